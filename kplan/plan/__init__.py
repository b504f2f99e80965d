"""Desired, prior and live to a plan; pure."""
