"""Definitions of messages that kafka-python does not ship, in the form of Kafka's own."""
