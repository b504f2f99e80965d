# A service that reads orders and all topics of the warehouse in one consumer group.
# KPLAN_BOOTSTRAP_SERVERS or KPLAN_COMMAND_CONFIG sets the cluster.
provider "kafka" {}

variable "replication_factor" {
  type        = number
  default     = 1
  description = "Replicas of each partition; 3 in production."
}

resource "kafka_topic" "this" {
  for_each = toset(["sales.orders", "warehouse.stock"])

  name               = each.value
  partitions         = 3
  replication_factor = var.replication_factor
}

module "billing" {
  source = "../../modules/consumer"

  principal      = "User:bob"
  topics         = [kafka_topic.this["sales.orders"].name]
  topic_prefixes = ["warehouse."]
  group          = "billing"
}

output "client_properties" {
  description = "Settings of the consumer of the service."
  value       = module.billing.client_properties
}
