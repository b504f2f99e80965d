"""`kplan import`."""
