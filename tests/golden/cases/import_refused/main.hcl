resource "kafka_topic" "orders" {
  name               = "orders"
  partitions         = 3
  replication_factor = 2
}
resource "kafka_topic" "audit" {
  name               = "audit"
  partitions         = 3
  replication_factor = 2
}
resource "kafka_topic" "owned" {
  name               = "owned"
  partitions         = 3
  replication_factor = 2
}
import {
  to = kafka_topic.orders
  id = "orders"
}
import {
  to = kafka_topic.audit
  id = "audit.v2"
}
import {
  to = kafka_topic.owned
  id = "owned"
}
