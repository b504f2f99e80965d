resource "kafka_topic" "orders" {
  name       = "orders"
  partitions = 3
  partitions = 6
}

resource "kafka_topic" "typo" {
  name      = "typo"
  partitons = 3
}
