"""Verbs, options, exit codes, terminal."""
