"""`kplan test`."""
