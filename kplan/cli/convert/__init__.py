"""`kplan convert`."""
