"""Use cases that read a cluster, and change one thing of it."""
