"""What is said: one module per document, each turning values of the model into blocks or data."""
