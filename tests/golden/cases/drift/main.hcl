resource "kafka_topic" "audit" {
  name               = "audit"
  partitions         = 3
  replication_factor = 2

  config = {
    "retention.ms" = "2592000000"
  }
}

resource "kafka_topic" "lost" {
  name               = "lost"
  partitions         = 3
  replication_factor = 2
}
