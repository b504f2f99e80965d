"""`kplan reassign` and `kplan elect`."""
