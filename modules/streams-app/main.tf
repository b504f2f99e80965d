terraform {
  required_version = ">= 1.9"

  required_providers {
    kafka = {
      source = "Mongey/kafka"
    }
  }
}

locals {
  # Every internal topic and every transactional id begins with it. The hyphen keeps an application
  # away from those of another whose id only begins the same.
  internal = "${var.application_id}-"
}

resource "kafka_acl" "input" {
  for_each = var.input_topics

  resource_type       = "Topic"
  resource_name       = each.value
  acl_principal       = var.principal
  acl_host            = var.host
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}

resource "kafka_acl" "output" {
  for_each = var.output_topics

  resource_type       = "Topic"
  resource_name       = each.value
  acl_principal       = var.principal
  acl_host            = var.host
  acl_operation       = "Write"
  acl_permission_type = "Allow"
}

# Repartition and changelog topics: created, written, read back, and, once they are processed,
# emptied of old records, which is what Delete is for.
resource "kafka_acl" "internal" {
  for_each = toset(["Create", "Delete", "Read", "Write"])

  resource_type                = "Topic"
  resource_name                = local.internal
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = var.principal
  acl_host                     = var.host
  acl_operation                = each.value
  acl_permission_type          = "Allow"
}

resource "kafka_acl" "group" {
  resource_type       = "Group"
  resource_name       = var.application_id
  acl_principal       = var.principal
  acl_host            = var.host
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}

resource "kafka_acl" "transactional_id" {
  count = var.processing_guarantee == "exactly_once_v2" ? 1 : 0

  resource_type                = "TransactionalID"
  resource_name                = local.internal
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = var.principal
  acl_host                     = var.host
  acl_operation                = "Write"
  acl_permission_type          = "Allow"
}
