"""Verbs of a project and of kplan itself: init, validate, fmt, console, sandbox, help..."""
