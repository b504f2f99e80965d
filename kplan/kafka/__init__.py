"""The cluster port on a real Apache Kafka."""
