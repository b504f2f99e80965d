# ksqlDB counts the orders of the shop.
# KPLAN_BOOTSTRAP_SERVERS or KPLAN_COMMAND_CONFIG sets the cluster.
provider "kafka" {}

variable "replication_factor" {
  type        = number
  default     = 1
  description = "Replicas of each partition; 3 in production."
}

resource "kafka_topic" "this" {
  for_each = toset(["mart.orders", "mart.orders.count"])

  name               = each.value
  partitions         = 3
  replication_factor = var.replication_factor
}

module "ksqldb" {
  source = "../../modules/ksqldb"

  principal          = "User:alice"
  service_id         = "mart_"
  reads              = [kafka_topic.this["mart.orders"].name]
  writes             = [kafka_topic.this["mart.orders.count"].name]
  exactly_once       = true
  replication_factor = var.replication_factor
}

output "server_properties" {
  description = "Settings of the servers."
  value       = module.ksqldb.server_properties
}
