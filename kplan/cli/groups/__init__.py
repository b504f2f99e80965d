"""`kplan groups reset`, `groups delete` and `groups delete-offsets`."""
