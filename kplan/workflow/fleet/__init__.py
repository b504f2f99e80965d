"""Use cases over many clusters."""
