terraform {
  required_version = ">= 1.9"

  required_providers {
    kafka = {
      source = "Mongey/kafka"
    }
  }
}

locals {
  prefix = coalesce(var.prefix, "${var.team}.")

  # Read and Write imply Describe; so do Alter and Delete, and AlterConfigs implies DescribeConfigs.
  rights = [
    { who = var.members, type = "Topic", operations = ["Read", "Write"] },
    { who = var.members, type = "Group", operations = ["Read"] },
    { who = var.members, type = "TransactionalID", operations = ["Write"] },
    { who = var.maintainers, type = "Topic", operations = ["Alter", "AlterConfigs", "Create", "Delete"] },
    { who = var.maintainers, type = "Group", operations = ["Delete"] },
    { who = var.guests, type = "Topic", operations = ["Read"] },
  ]

  grants = merge([
    for right in local.rights : {
      for pair in setproduct(right.who, right.operations) :
      "${pair[0]} ${pair[1]} ${right.type}" => {
        principal = pair[0]
        operation = pair[1]
        type      = right.type
      }
    }
  ]...)
}

resource "kafka_topic" "this" {
  for_each = var.topics

  name               = "${local.prefix}${each.key}"
  partitions         = each.value.partitions
  replication_factor = var.replication_factor
  config             = each.value.config
}

resource "kafka_acl" "this" {
  for_each = local.grants

  resource_type                = each.value.type
  resource_name                = local.prefix
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = each.value.principal
  acl_host                     = var.host
  acl_operation                = each.value.operation
  acl_permission_type          = "Allow"
}
