# Two teams with one namespace each. finance may read the topics of logistics.
# KPLAN_BOOTSTRAP_SERVERS or KPLAN_COMMAND_CONFIG sets the cluster.
provider "kafka" {}

variable "replication_factor" {
  type        = number
  default     = 1
  description = "Replicas of each partition; 3 in production."
}

module "logistics" {
  source = "../../modules/team-namespace"

  team               = "logistics"
  members            = ["User:alice"]
  maintainers        = ["User:ci"]
  guests             = ["User:bob"]
  replication_factor = var.replication_factor

  topics = {
    shipments = { partitions = 3 }
    returns   = { config = { "retention.ms" = "604800000" } }
  }
}

module "finance" {
  source = "../../modules/team-namespace"

  team               = "finance"
  members            = ["User:bob"]
  replication_factor = var.replication_factor

  topics = {
    invoices = { config = { "cleanup.policy" = "compact" } }
  }
}

output "topics" {
  description = "Topics of all teams."
  value       = merge(module.logistics.topics, module.finance.topics)
}
