"""The option `-report`, and where the reports of a run are written."""
