"""Use cases: apply, resume, wait, and deletion of records."""
