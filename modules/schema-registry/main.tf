terraform {
  required_version = ">= 1.9"

  required_providers {
    kafka = {
      source = "Mongey/kafka"
    }
  }
}

# The registry keeps every schema here, and reads all of them at startup.
resource "kafka_topic" "schemas" {
  name               = var.topic
  partitions         = 1
  replication_factor = var.replication_factor

  config = {
    "cleanup.policy" = "compact"
  }
}

# The registry refuses to start if it cannot check that the topic is compacted.
resource "kafka_acl" "schemas" {
  for_each = toset(["DescribeConfigs", "Read", "Write"])

  resource_type       = "Topic"
  resource_name       = kafka_topic.schemas.name
  acl_principal       = var.principal
  acl_host            = var.host
  acl_operation       = each.value
  acl_permission_type = "Allow"
}

# The instances elect their leader in this group.
resource "kafka_acl" "group" {
  resource_type       = "Group"
  resource_name       = var.group_id
  acl_principal       = var.principal
  acl_host            = var.host
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
