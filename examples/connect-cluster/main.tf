# A Connect cluster with a source of customers and a sink for orders.
# KPLAN_BOOTSTRAP_SERVERS or KPLAN_COMMAND_CONFIG sets the cluster.
provider "kafka" {}

variable "replication_factor" {
  type        = number
  default     = 1
  description = "Replicas of each partition; 3 in production."
}

resource "kafka_topic" "this" {
  for_each = toset(["crm.customers", "web.orders", "web.orders.rejected"])

  name               = each.value
  partitions         = 3
  replication_factor = var.replication_factor
}

module "connect" {
  source = "../../modules/connect-cluster"

  principal           = "User:alice"
  group_id            = "integration"
  replication_factor  = var.replication_factor
  offset_partitions   = 5
  exactly_once_source = true

  connectors = {
    crm = {
      writes = [kafka_topic.this["crm.customers"].name]
    }
    warehouse = {
      reads  = [kafka_topic.this["web.orders"].name]
      writes = [kafka_topic.this["web.orders.rejected"].name]
    }
  }
}

output "worker_properties" {
  description = "Settings of the workers."
  value       = module.connect.worker_properties
}
