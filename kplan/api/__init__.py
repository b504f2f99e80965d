"""What `import kplan` gives: the use cases as functions, and their results as frozen values."""
