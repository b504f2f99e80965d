# One service that turns payments into bookings, each exactly once: it reads, writes, and commits
# what it read, in one transaction.
# The cluster is named by KPLAN_BOOTSTRAP_SERVERS or KPLAN_COMMAND_CONFIG.
provider "kafka" {}

variable "replication_factor" {
  type        = number
  default     = 1
  description = "Copies of each partition; 3 on a cluster that matters."
}

resource "kafka_topic" "this" {
  for_each = toset(["bank.payments", "bank.bookings"])

  name               = each.value
  partitions         = 3
  replication_factor = var.replication_factor
}

module "payments" {
  source = "../../modules/consumer"

  principal = "User:alice"
  topics    = [kafka_topic.this["bank.payments"].name]
  group     = "booking"
}

# Each instance of the service adds its own number to the transactional id.
module "bookings" {
  source = "../../modules/transactional-producer"

  principal                  = "User:alice"
  topics                     = [kafka_topic.this["bank.bookings"].name]
  transactional_id           = "booking-"
  transactional_id_is_prefix = true
}

output "consumer_properties" {
  description = "What the service sets in its consumer."
  value       = module.payments.client_properties
}

output "producer_properties" {
  description = "What the service sets in its producer, beside a transactional.id."
  value       = module.bookings.client_properties
}
