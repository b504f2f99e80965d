"""Documents (what is said) times formats (how it is written)."""
