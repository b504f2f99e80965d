"""The functions of the configuration language, a file per group; `registry.FUNCTIONS` lists all."""
