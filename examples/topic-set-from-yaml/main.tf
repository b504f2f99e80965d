# Topics from a YAML file, and a service that writes to all of them.
# KPLAN_BOOTSTRAP_SERVERS or KPLAN_COMMAND_CONFIG sets the cluster.
provider "kafka" {}

variable "replication_factor" {
  type        = number
  default     = 1
  description = "Replicas of each partition; 3 in production."
}

module "topics" {
  source = "../../modules/topic-set-from-yaml"

  file               = "${path.module}/topics.yaml"
  prefix             = "plant."
  replication_factor = var.replication_factor
}

module "gateway" {
  source = "../../modules/producer"

  principal = "User:alice"
  topics    = values(module.topics.names)
}

output "topics" {
  description = "Names of the topics, by their name in the file."
  value       = module.topics.names
}
