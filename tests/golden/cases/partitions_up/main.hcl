resource "kafka_topic" "orders" {
  name               = "orders"
  partitions         = 12
  replication_factor = 2
}
