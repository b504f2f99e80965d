"""The use cases: ports in, values out."""
