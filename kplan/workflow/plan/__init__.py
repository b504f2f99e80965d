"""Use cases: plan and drift, with every check that a plan goes through."""
