# Topics that people keep in a YAML file, and a service that writes all of them.
# The cluster is named by KPLAN_BOOTSTRAP_SERVERS or KPLAN_COMMAND_CONFIG.
provider "kafka" {}

variable "replication_factor" {
  type        = number
  default     = 1
  description = "Copies of each partition; 3 on a cluster that matters."
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
  description = "Names of the topics, by their names in the file."
  value       = module.topics.names
}
