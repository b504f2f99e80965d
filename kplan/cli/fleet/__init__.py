"""`kplan fleet`: many clusters, on Spark."""
