resource "kafka_topic" "orders" {
  name               = "orders"
  partitions         = 3
  replication_factor = 2

  config = {
    "retention.ms" = "604800000"
  }
}
