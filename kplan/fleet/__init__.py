"""Spark jobs over snapshots of many clusters."""
