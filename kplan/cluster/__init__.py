"""What kplan asks of a Kafka cluster, in its own words."""
