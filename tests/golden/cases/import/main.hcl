resource "kafka_topic" "orders" {
  name               = "orders"
  partitions         = 3
  replication_factor = 2
}
resource "kafka_acl" "read" {
  resource_name       = "orders"
  resource_type       = "Topic"
  acl_principal       = "User:app"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
import {
  to = kafka_topic.orders
  id = "orders"
}
import {
  to = kafka_acl.read
  id = "User:app|*|Read|Allow|Topic|orders|Literal"
}
