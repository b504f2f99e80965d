# MirrorMaker copies the topics of the shop from the cluster "eu" to the cluster "dr". Here both are
# one cluster; in production each has a provider block with an alias.
# KPLAN_BOOTSTRAP_SERVERS or KPLAN_COMMAND_CONFIG sets the cluster.
provider "kafka" {}

variable "replication_factor" {
  type        = number
  default     = 1
  description = "Replicas of each partition; 3 in production."
}

resource "kafka_topic" "orders" {
  name               = "shop.orders"
  partitions         = 3
  replication_factor = var.replication_factor
}

module "mirror" {
  source    = "../../modules/mirror-maker"
  providers = { kafka.source = kafka, kafka.target = kafka }

  source_alias       = "eu"
  target_alias       = "dr"
  source_principal   = "User:alice"
  target_principal   = "User:bob"
  topics             = ["heartbeats"]
  topic_prefixes     = ["shop."]
  group_prefixes     = ["billing"]
  replication_factor = var.replication_factor
}

output "mirrored_prefix" {
  description = "Prefix of the names of mirrored topics."
  value       = module.mirror.mirrored_prefix
}

output "offset_syncs_topic" {
  description = "The topic that MirrorMaker keeps on the source cluster."
  value       = module.mirror.offset_syncs_topic
}
