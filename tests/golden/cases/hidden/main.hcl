resource "kafka_topic" "orders" {
  name               = "orders"
  partitions         = 3
  replication_factor = 2

  config = {
    "retention.ms" = "604800000"
  }
}

resource "kafka_topic" "events" {
  name               = "events"
  partitions         = 3
  replication_factor = 2
}
