"""Use cases: policies, their tests, and lint."""
