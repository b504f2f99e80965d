"""State to file and back."""
