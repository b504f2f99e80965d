"""Carrying out a plan, batch by batch."""
