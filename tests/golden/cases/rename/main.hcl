resource "kafka_topic" "orders" {
  name               = "orders.v2"
  partitions         = 3
  replication_factor = 2
}
