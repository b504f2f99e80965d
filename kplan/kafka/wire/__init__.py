"""kplan's own small blocking Kafka client."""
