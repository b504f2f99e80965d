resource "kafka_topic" "n" {
  name               = "n"
  partitions         = 1
  replication_factor = 1
}
moved {
  from = kafka_topic.n
  to   = kafka_topic.m
}
import {
  to = kafka_topic.n
  id = "n"
}
