# One service that reads orders and everything of the warehouse, as one consumer group.
# The cluster is named by KPLAN_BOOTSTRAP_SERVERS or KPLAN_COMMAND_CONFIG.
provider "kafka" {}

variable "replication_factor" {
  type        = number
  default     = 1
  description = "Copies of each partition; 3 on a cluster that matters."
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
  description = "What the service sets in its consumer."
  value       = module.billing.client_properties
}
