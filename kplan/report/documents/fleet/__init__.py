"""The page about a fleet: its sections, their tables and charts."""
