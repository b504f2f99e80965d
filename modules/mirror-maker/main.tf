terraform {
  required_version = ">= 1.9"

  required_providers {
    kafka = {
      source                = "Mongey/kafka"
      configuration_aliases = [kafka.source, kafka.target]
    }
  }
}

# MirrorMaker records here which offset of the target belongs to which offset of the source.
resource "kafka_topic" "offset_syncs" {
  provider           = kafka.source
  name               = "mm2-offset-syncs.${var.target_alias}.internal"
  partitions         = 1
  replication_factor = var.replication_factor

  config = {
    "cleanup.policy" = "compact"
  }
}

resource "kafka_acl" "offset_syncs" {
  provider = kafka.source
  for_each = toset(["Read", "Write"])

  resource_type       = "Topic"
  resource_name       = kafka_topic.offset_syncs.name
  acl_principal       = var.source_principal
  acl_host            = var.host
  acl_operation       = each.value
  acl_permission_type = "Allow"
}

locals {
  # The configs of a topic are copied with its records.
  reads = { for each in setproduct(["Read", "DescribeConfigs"], var.topics) : join(" ", each) => each }
  prefixed_reads = {
    for each in setproduct(["Read", "DescribeConfigs"], var.topic_prefixes) : join(" ", each) => each
  }
}

resource "kafka_acl" "topics" {
  provider = kafka.source
  for_each = local.reads

  resource_type       = "Topic"
  resource_name       = each.value[1]
  acl_principal       = var.source_principal
  acl_host            = var.host
  acl_operation       = each.value[0]
  acl_permission_type = "Allow"
}

resource "kafka_acl" "topic_prefixes" {
  provider = kafka.source
  for_each = local.prefixed_reads

  resource_type                = "Topic"
  resource_name                = each.value[1]
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = var.source_principal
  acl_host                     = var.host
  acl_operation                = each.value[0]
  acl_permission_type          = "Allow"
}

# The checkpoints of a group are made of its committed offsets.
resource "kafka_acl" "group_prefixes" {
  provider = kafka.source
  for_each = var.group_prefixes

  resource_type                = "Group"
  resource_name                = each.value
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = var.source_principal
  acl_host                     = var.host
  acl_operation                = "Describe"
  acl_permission_type          = "Allow"
}

locals {
  internal = {
    configs     = { name = "mm2-configs.${var.source_alias}.internal", partitions = 1 }
    offsets     = { name = "mm2-offsets.${var.source_alias}.internal", partitions = 25 }
    status      = { name = "mm2-status.${var.source_alias}.internal", partitions = 5 }
    checkpoints = { name = "${var.source_alias}.checkpoints.internal", partitions = 1 }
    heartbeats  = { name = "heartbeats", partitions = 1 }
  }
  # The ACLs for the copies are for the checkpoints, too: they begin with the same prefix.
  writes = toset(["configs", "offsets", "status", "heartbeats"])
  # Workers read what they wrote before.
  stores = toset(["configs", "offsets", "status"])
}

resource "kafka_topic" "internal" {
  provider = kafka.target
  for_each = local.internal

  name               = each.value.name
  partitions         = each.value.partitions
  replication_factor = var.replication_factor

  config = {
    "cleanup.policy" = "compact"
  }
}

resource "kafka_acl" "internal_write" {
  provider = kafka.target
  for_each = local.writes

  resource_type       = "Topic"
  resource_name       = kafka_topic.internal[each.value].name
  acl_principal       = var.target_principal
  acl_host            = var.host
  acl_operation       = "Write"
  acl_permission_type = "Allow"
}

resource "kafka_acl" "internal_read" {
  provider = kafka.target
  for_each = local.stores

  resource_type       = "Topic"
  resource_name       = kafka_topic.internal[each.value].name
  acl_principal       = var.target_principal
  acl_host            = var.host
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}

# The processes of MirrorMaker find each other in this group.
resource "kafka_acl" "group" {
  provider            = kafka.target
  resource_type       = "Group"
  resource_name       = "${var.source_alias}-mm2"
  acl_principal       = var.target_principal
  acl_host            = var.host
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}

# The topics that MirrorMaker makes: it adds their partitions and copies their configs, too. It reads
# its checkpoints, and commits the offsets of groups.
resource "kafka_acl" "mirrored" {
  provider = kafka.target
  for_each = toset(["Create", "Read", "Write", "Alter", "AlterConfigs"])

  resource_type                = "Topic"
  resource_name                = "${var.source_alias}."
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = var.target_principal
  acl_host                     = var.host
  acl_operation                = each.value
  acl_permission_type          = "Allow"
}

# sync.group.offsets.enabled: the offsets of groups are committed on the target.
resource "kafka_acl" "target_group_prefixes" {
  provider = kafka.target
  for_each = var.group_prefixes

  resource_type                = "Group"
  resource_name                = each.value
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = var.target_principal
  acl_host                     = var.host
  acl_operation                = "Read"
  acl_permission_type          = "Allow"
}
