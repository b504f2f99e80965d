"""`kplan policy` and `kplan lint`."""
