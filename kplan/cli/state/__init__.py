"""`kplan state`, `lock`, `force-unlock`, `output` and `show`."""
