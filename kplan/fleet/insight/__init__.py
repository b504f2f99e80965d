"""Decisions from the tables of a fleet: costs, trends and anomalies."""
