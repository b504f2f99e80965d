# A Kafka Streams application that adds up the turnover of each shop.
# KPLAN_BOOTSTRAP_SERVERS or KPLAN_COMMAND_CONFIG sets the cluster.
provider "kafka" {}

variable "replication_factor" {
  type        = number
  default     = 1
  description = "Replicas of each partition; 3 in production."
}

resource "kafka_topic" "this" {
  for_each = toset(["till.sales", "till.turnover"])

  name               = each.value
  partitions         = 3
  replication_factor = var.replication_factor
}

module "turnover" {
  source = "../../modules/streams-app"

  principal            = "User:alice"
  application_id       = "turnover"
  input_topics         = [kafka_topic.this["till.sales"].name]
  output_topics        = [kafka_topic.this["till.turnover"].name]
  processing_guarantee = "exactly_once_v2"
}

output "streams_properties" {
  description = "Settings of the application."
  value       = module.turnover.streams_properties
}
