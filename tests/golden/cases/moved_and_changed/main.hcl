resource "kafka_topic" "renamed_block" {
  name               = "orders"
  partitions         = 6
  replication_factor = 2
}
