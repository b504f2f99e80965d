# A service that converts payments to bookings, each exactly once: it reads, writes and commits its
# offsets in one transaction.
# KPLAN_BOOTSTRAP_SERVERS or KPLAN_COMMAND_CONFIG sets the cluster.
provider "kafka" {}

variable "replication_factor" {
  type        = number
  default     = 1
  description = "Replicas of each partition; 3 in production."
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

# Each instance of the service adds its number to the prefix.
module "bookings" {
  source = "../../modules/transactional-producer"

  principal                  = "User:alice"
  topics                     = [kafka_topic.this["bank.bookings"].name]
  transactional_id           = "booking-"
  transactional_id_is_prefix = true
}

output "consumer_properties" {
  description = "Settings of the consumer of the service."
  value       = module.payments.client_properties
}

output "producer_properties" {
  description = "Settings of the producer of the service, without transactional.id."
  value       = module.bookings.client_properties
}
