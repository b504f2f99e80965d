"""Use case: convert files of other tools to HCL."""
