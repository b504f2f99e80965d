"""Use cases: reassign replicas, elect leaders."""
