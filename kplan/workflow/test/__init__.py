"""Use case: run the tests of a configuration."""
