"""Definitions of messages that only tests send, in the form of Kafka's own."""
