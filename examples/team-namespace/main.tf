# Two teams with a namespace each; finance may read what logistics has.
# The cluster is named by KPLAN_BOOTSTRAP_SERVERS or KPLAN_COMMAND_CONFIG.
provider "kafka" {}

variable "replication_factor" {
  type        = number
  default     = 1
  description = "Copies of each partition; 3 on a cluster that matters."
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
  description = "Every topic of every team."
  value       = merge(module.logistics.topics, module.finance.topics)
}
