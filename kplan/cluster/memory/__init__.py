"""A Kafka cluster in memory that answers as Apache Kafka 4 does, with faults on request."""
