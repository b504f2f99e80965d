"""What the files of a folder declare, and checks that need no evaluation."""
