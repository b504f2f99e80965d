"""Plan and apply for Apache Kafka."""
