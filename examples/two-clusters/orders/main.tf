# The orders of one region, on the cluster that the caller passes.

variable "reader" {
  type        = string
  description = "Principal that may read the orders."
}

resource "kafka_topic" "orders" {
  name               = "shop.orders"
  partitions         = 3
  replication_factor = 1
  config             = { "retention.ms" = tostring(7 * 24 * 60 * 60 * 1000) }
}

resource "kafka_acl" "reader" {
  resource_name       = kafka_topic.orders.name
  resource_type       = "Topic"
  acl_principal       = var.reader
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}

output "topic" {
  description = "Name of the topic."
  value       = kafka_topic.orders.name
}
