# One application made of the modules: it takes orders in, adds them up with Kafka Streams, and hands the
# totals on. Several modules describe the same right; kplan creates the ACL once.
# KPLAN_BOOTSTRAP_SERVERS or KPLAN_COMMAND_CONFIG sets the cluster.
provider "kafka" {}

variable "replication_factor" {
  type        = number
  default     = 1
  description = "Replicas of each partition; 3 in production."
}

locals {
  principal = "User:alice"
}

resource "kafka_topic" "this" {
  for_each = toset(["depot.orders", "depot.totals"])

  name               = each.value
  partitions         = 3
  replication_factor = var.replication_factor
}

# The intake writes orders.
module "intake" {
  source = "../../modules/producer"

  principal = local.principal
  topics    = [kafka_topic.this["depot.orders"].name]
}

# The totals are made from the orders. The application id is also the name of its consumer group.
module "totals" {
  source = "../../modules/streams-app"

  principal      = local.principal
  application_id = "depot"
  input_topics   = [kafka_topic.this["depot.orders"].name]
  output_topics  = [kafka_topic.this["depot.totals"].name]
}

# The export reads the totals. It is in the group of the application, as the replay below.
module "export" {
  source = "../../modules/consumer"

  principal = local.principal
  topics    = [kafka_topic.this["depot.totals"].name]
  group     = "depot"
}

# The replay reads the totals and the orders again, and corrects the totals.
module "replay" {
  source = "../../modules/consumer"

  principal = local.principal
  topics    = [for each in kafka_topic.this : each.name]
  group     = "depot"
}

module "correction" {
  source = "../../modules/producer"

  principal = local.principal
  topics    = [kafka_topic.this["depot.totals"].name]
}

output "streams_properties" {
  description = "Settings of the application."
  value       = module.totals.streams_properties
}
