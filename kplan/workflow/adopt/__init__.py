"""Use cases: import what exists."""
