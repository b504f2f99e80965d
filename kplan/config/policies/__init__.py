"""`policy` blocks: their declarations and the findings of their rules."""
