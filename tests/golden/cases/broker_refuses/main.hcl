resource "kafka_topic" "orders" {
  name               = "orders"
  partitions         = 3
  replication_factor = 5
}

resource "kafka_topic" "events" {
  name               = "events"
  partitions         = 3
  replication_factor = 2
}
