resource "kafka_topic" "orders" {
  name               = "orders"
  partitions         = 6
  replication_factor = 2
}

resource "kafka_topic" "events" {
  name               = "events"
  partitions         = 3
  replication_factor = 2
}
