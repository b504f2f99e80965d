"""How it is written: one module per format, each serving every document."""
