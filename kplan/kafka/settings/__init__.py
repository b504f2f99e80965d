"""Connection settings: where they are read, and the value they become."""
