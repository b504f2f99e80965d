"""What is said (documents) times how it is written (formats): M + N, not M x N."""
