# The topic and the ACLs of a Schema Registry.
# KPLAN_BOOTSTRAP_SERVERS or KPLAN_COMMAND_CONFIG sets the cluster.
provider "kafka" {}

variable "replication_factor" {
  type        = number
  default     = 1
  description = "Replicas of the topic; 3 in production."
}

module "registry" {
  source = "../../modules/schema-registry"

  principal          = "User:alice"
  replication_factor = var.replication_factor
}

output "registry_properties" {
  description = "Settings of the registry."
  value       = module.registry.registry_properties
}
