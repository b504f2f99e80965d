"""Use cases: reset and delete offsets of groups, and delete groups."""
