"""Use cases on a configuration alone."""
