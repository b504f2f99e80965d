resource "kafka_topic" "renamed_block" {
  name               = "orders"
  partitions         = 3
  replication_factor = 2
}
