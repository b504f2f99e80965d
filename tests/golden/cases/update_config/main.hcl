resource "kafka_topic" "orders" {
  name               = "orders"
  partitions         = 3
  replication_factor = 2

  config = {
    "retention.ms"      = "86400000"
    "segment.ms"        = "3600000"
    "max.message.bytes" = "1048576"
  }
}
