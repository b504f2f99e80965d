terraform {
  required_version = ">= 1.9"

  required_providers {
    kafka = {
      source = "Mongey/kafka"
    }
  }
}

# Read implies Describe, on a topic and on a group.
resource "kafka_acl" "read" {
  for_each = var.topics

  resource_type       = "Topic"
  resource_name       = each.value
  acl_principal       = var.principal
  acl_host            = var.host
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}

resource "kafka_acl" "read_prefixed" {
  for_each = var.topic_prefixes

  resource_type                = "Topic"
  resource_name                = each.value
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = var.principal
  acl_host                     = var.host
  acl_operation                = "Read"
  acl_permission_type          = "Allow"
}

# Join the group and commit offsets.
resource "kafka_acl" "group" {
  count = var.group == null ? 0 : 1

  resource_type                = "Group"
  resource_name                = var.group
  resource_pattern_type_filter = var.group_is_prefix ? "Prefixed" : "Literal"
  acl_principal                = var.principal
  acl_host                     = var.host
  acl_operation                = "Read"
  acl_permission_type          = "Allow"
}
