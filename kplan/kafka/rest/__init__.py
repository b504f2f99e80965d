"""REST services beside the brokers: the Schema Registry and Kafka Connect."""
