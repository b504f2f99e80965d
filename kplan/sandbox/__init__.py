"""A real Apache Kafka from Maven artifacts, for trying and for tests."""
