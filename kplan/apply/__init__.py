"""Apply a plan, batch by batch."""
