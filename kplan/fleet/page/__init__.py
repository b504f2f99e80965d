"""What only the page about a fleet asks of a run and of logs."""
