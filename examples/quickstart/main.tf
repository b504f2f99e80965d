# A small shop: four topics, a service that writes and a service that reads.

# KPLAN_BOOTSTRAP_SERVERS or KPLAN_COMMAND_CONFIG sets the cluster.
provider "kafka" {}

variable "environment" {
  type        = string
  default     = "dev"
  description = "Prefix of all names, so that environments can share a cluster."

  validation {
    condition     = contains(["dev", "test", "prod"], var.environment)
    error_message = "The environment must be dev, test or prod."
  }
}

variable "replication_factor" {
  type        = number
  default     = 1
  description = "Replicas of each partition; 3 in production."
}

locals {
  day_ms = 24 * 60 * 60 * 1000

  # Partitions and retention of each event stream.
  events = {
    orders    = { partitions = 6, days = 7 }
    payments  = { partitions = 3, days = 30 }
    shipments = { partitions = 3, days = 7 }
  }
}

resource "kafka_topic" "events" {
  for_each = local.events

  name               = "${var.environment}.shop.${each.key}"
  partitions         = each.value.partitions
  replication_factor = var.replication_factor

  config = {
    "cleanup.policy"   = "delete"
    "compression.type" = "zstd"
    "retention.ms"     = tostring(each.value.days * local.day_ms)
  }
}

# The latest state of each customer. A compacted topic keeps the latest record of each key.
resource "kafka_topic" "customers" {
  name               = "${var.environment}.shop.customers"
  partitions         = 3
  replication_factor = var.replication_factor

  config = {
    "cleanup.policy"            = "compact"
    "min.cleanable.dirty.ratio" = "0.2"
  }
}

# checkout only writes orders. Write implies Describe.
resource "kafka_acl" "checkout" {
  resource_type       = "Topic"
  resource_name       = kafka_topic.events["orders"].name
  acl_principal       = "User:checkout"
  acl_host            = "*"
  acl_operation       = "Write"
  acl_permission_type = "Allow"
}

# reporting reads all topics of the shop, also future ones, in its own consumer groups.
resource "kafka_acl" "reporting" {
  for_each = {
    Topic = "${var.environment}.shop."
    Group = "${var.environment}.reporting."
  }

  resource_type                = each.key
  resource_name                = each.value
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = "User:reporting"
  acl_host                     = "*"
  acl_operation                = "Read"
  acl_permission_type          = "Allow"
}

output "topics" {
  description = "Name of each topic, by event stream."
  value       = { for stream, topic in kafka_topic.events : stream => topic.name }
}

output "partitions" {
  description = "Total partitions of all event streams."
  value       = sum([for topic in kafka_topic.events : topic.partitions])
}
