terraform {
  required_version = ">= 1.9"

  required_providers {
    kafka = {
      source = "Mongey/kafka"
    }
  }
}

locals {
  topics = {
    config = coalesce(var.config_topic, "${var.group_id}-configs")
    offset = coalesce(var.offset_topic, "${var.group_id}-offsets")
    status = coalesce(var.status_topic, "${var.group_id}-status")
  }

  # A connector that reads is a sink. The topics that a sink writes are its dead letter queues.
  sinks   = toset([for name, connector in var.connectors : name if length(connector.reads) > 0])
  sources = setsubtract(keys(var.connectors), local.sinks)
  reads   = setunion([], values(var.connectors)[*].reads...)
  writes  = setunion([], values(var.connectors)[*].writes...)
}

# The workers may not create topics. Connect requires one partition in the config topic, and
# compaction of all three.
resource "kafka_topic" "internal" {
  for_each = {
    config = 1
    offset = var.offset_partitions
    status = var.status_partitions
  }

  name               = local.topics[each.key]
  partitions         = each.value
  replication_factor = var.replication_factor

  config = {
    "cleanup.policy" = "compact"
  }
}

resource "kafka_acl" "internal_read" {
  for_each = kafka_topic.internal

  resource_type       = "Topic"
  resource_name       = each.value.name
  acl_principal       = var.principal
  acl_host            = var.host
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}

resource "kafka_acl" "internal_write" {
  for_each = kafka_topic.internal

  resource_type       = "Topic"
  resource_name       = each.value.name
  acl_principal       = var.principal
  acl_host            = var.host
  acl_operation       = "Write"
  acl_permission_type = "Allow"
}

# The workers use this group to find each other and to distribute the connectors.
resource "kafka_acl" "group" {
  resource_type       = "Group"
  resource_name       = var.group_id
  acl_principal       = var.principal
  acl_host            = var.host
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}

resource "kafka_acl" "reads" {
  for_each = local.reads

  resource_type       = "Topic"
  resource_name       = each.value
  acl_principal       = var.principal
  acl_host            = var.host
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}

# Each sink connector uses a consumer group, connect-CONNECTOR.
resource "kafka_acl" "sink_group" {
  for_each = local.sinks

  resource_type       = "Group"
  resource_name       = "connect-${each.value}"
  acl_principal       = var.principal
  acl_host            = var.host
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}

resource "kafka_acl" "writes" {
  for_each = local.writes

  resource_type       = "Topic"
  resource_name       = each.value
  acl_principal       = var.principal
  acl_host            = var.host
  acl_operation       = "Write"
  acl_permission_type = "Allow"
}

# KIP-618: the leader writes the config topic in transactions, and each task its records.
resource "kafka_acl" "leader_transactions" {
  count = var.exactly_once_source ? 1 : 0

  resource_type       = "TransactionalID"
  resource_name       = "connect-cluster-${var.group_id}"
  acl_principal       = var.principal
  acl_host            = var.host
  acl_operation       = "Write"
  acl_permission_type = "Allow"
}

resource "kafka_acl" "task_transactions" {
  for_each = var.exactly_once_source ? local.sources : toset([])

  resource_type                = "TransactionalID"
  resource_name                = "${var.group_id}-${each.value}"
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = var.principal
  acl_host                     = var.host
  acl_operation                = "Write"
  acl_permission_type          = "Allow"
}
