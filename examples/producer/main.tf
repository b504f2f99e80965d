# A service that writes orders and an audit trail.
# KPLAN_BOOTSTRAP_SERVERS or KPLAN_COMMAND_CONFIG sets the cluster.
provider "kafka" {}

variable "replication_factor" {
  type        = number
  default     = 1
  description = "Replicas of each partition; 3 in production."
}

resource "kafka_topic" "this" {
  for_each = toset(["checkout.orders", "checkout.audit.logins"])

  name               = each.value
  partitions         = 3
  replication_factor = var.replication_factor
}

# The service may write to all topics that begin with checkout.audit., also to future ones.
module "checkout" {
  source = "../../modules/producer"

  principal      = "User:alice"
  topics         = [kafka_topic.this["checkout.orders"].name]
  topic_prefixes = ["checkout.audit."]
}

output "client_properties" {
  description = "Settings of the producer of the service."
  value       = module.checkout.client_properties
}
