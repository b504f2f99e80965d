# The job that plans pull requests reads the cluster and the state, and changes nothing.
# KPLAN_BOOTSTRAP_SERVERS or KPLAN_COMMAND_CONFIG sets the cluster.
provider "kafka" {}

variable "replication_factor" {
  type        = number
  default     = 1
  description = "Replicas of each partition; 3 in production."
}

resource "kafka_topic" "this" {
  for_each = toset(["plans.orders", "plans.state"])

  name               = each.value
  partitions         = 1
  replication_factor = var.replication_factor
}

module "reader" {
  source = "../../modules/plan-reader"

  principal   = "User:ci"
  state_topic = kafka_topic.this["plans.state"].name
}

output "plan_arguments" {
  description = "Arguments of kplan plan for the job."
  value       = module.reader.plan_arguments
}
