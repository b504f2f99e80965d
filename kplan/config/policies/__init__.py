"""`policy` blocks: what they declare, and what their rules find."""
