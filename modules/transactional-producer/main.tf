terraform {
  required_version = ">= 1.9"

  required_providers {
    kafka = {
      source = "Mongey/kafka"
    }
  }
}

# Write implies Describe, on a topic and on a transactional id.
resource "kafka_acl" "write" {
  for_each = var.topics

  resource_type       = "Topic"
  resource_name       = each.value
  acl_principal       = var.principal
  acl_host            = var.host
  acl_operation       = "Write"
  acl_permission_type = "Allow"
}

resource "kafka_acl" "write_prefixed" {
  for_each = var.topic_prefixes

  resource_type                = "Topic"
  resource_name                = each.value
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = var.principal
  acl_host                     = var.host
  acl_operation                = "Write"
  acl_permission_type          = "Allow"
}

# Write on a transactional id also allows fencing every other producer with this id.
resource "kafka_acl" "transactional_id" {
  resource_type                = "TransactionalID"
  resource_name                = var.transactional_id
  resource_pattern_type_filter = var.transactional_id_is_prefix ? "Prefixed" : "Literal"
  acl_principal                = var.principal
  acl_host                     = var.host
  acl_operation                = "Write"
  acl_permission_type          = "Allow"
}
