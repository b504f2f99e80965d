# One service that writes orders and an audit trail.
# The cluster is named by KPLAN_BOOTSTRAP_SERVERS or KPLAN_COMMAND_CONFIG.
provider "kafka" {}

variable "replication_factor" {
  type        = number
  default     = 1
  description = "Copies of each partition; 3 on a cluster that matters."
}

resource "kafka_topic" "this" {
  for_each = toset(["checkout.orders", "checkout.audit.logins"])

  name               = each.value
  partitions         = 3
  replication_factor = var.replication_factor
}

# The audit trail may grow: any topic that begins with checkout.audit. is the service's to write.
module "checkout" {
  source = "../../modules/producer"

  principal      = "User:alice"
  topics         = [kafka_topic.this["checkout.orders"].name]
  topic_prefixes = ["checkout.audit."]
}

output "client_properties" {
  description = "What the service sets in its producer."
  value       = module.checkout.client_properties
}
