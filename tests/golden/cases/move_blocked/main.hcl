resource "kafka_topic" "new" {
  name               = "b"
  partitions         = 3
  replication_factor = 2
}
moved {
  from = kafka_topic.old
  to   = kafka_topic.new
}
