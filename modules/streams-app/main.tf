terraform {
  required_version = ">= 1.9"

  required_providers {
    kafka = {
      source = "Mongey/kafka"
    }
  }
}

locals {
  # The prefix of all internal topics and transactional ids. The hyphen excludes applications whose
  # id begins with this id.
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

# Repartition and changelog topics: the application creates, writes and reads them, and deletes
# processed records, which requires Delete.
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
