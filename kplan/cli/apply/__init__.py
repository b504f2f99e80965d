"""`kplan apply`, `destroy`, `wait` and `records delete`."""
