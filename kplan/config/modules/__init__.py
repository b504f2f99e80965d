"""Modules of a configuration: their blocks, evaluated on demand."""
