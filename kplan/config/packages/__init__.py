"""Modules that come from git, archives and registries: sources, lock file and installed folders."""
