resource "kafka_topic" "dotted" {
  name               = "pay.ments"
  partitions         = 3
  replication_factor = 2
}
