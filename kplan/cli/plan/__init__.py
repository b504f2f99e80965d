"""`kplan plan` and `kplan drift`."""
