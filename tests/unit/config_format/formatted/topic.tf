resource "kafka_topic" "orders" {
  name               = "orders"
  partitions         = 12
  replication_factor = 3
  config = {
    "cleanup.policy" = "compact"
    "retention.ms"   = "604800000"
  }
}
