"""Use cases on the state."""
