terraform {
  required_version = ">= 1.9"

  required_providers {
    kafka = {
      source = "Mongey/kafka"
    }
  }
}

locals {
  # ksqlDB names its command topic, and the topics and groups of its queries, with this prefix.
  prefix = "_confluent-ksql-${var.service_id}"
}

# Servers compare settings of the brokers with their own at startup.
resource "kafka_acl" "cluster" {
  resource_type       = "Cluster"
  resource_name       = "kafka-cluster"
  acl_principal       = var.principal
  acl_host            = var.host
  acl_operation       = "DescribeConfigs"
  acl_permission_type = "Allow"
}

# The command topic, and repartition and changelog topics: created, purged and deleted with queries.
resource "kafka_acl" "internal_topics" {
  resource_type                = "Topic"
  resource_name                = local.prefix
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = var.principal
  acl_host                     = var.host
  acl_operation                = "All"
  acl_permission_type          = "Allow"
}

# Each query has a group, which is deleted with it.
resource "kafka_acl" "groups" {
  for_each = toset(["Delete", "Read"])

  resource_type                = "Group"
  resource_name                = local.prefix
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = var.principal
  acl_host                     = var.host
  acl_operation                = each.value
  acl_permission_type          = "Allow"
}

# Statements are written to the command topic in transactions.
resource "kafka_acl" "command_transactions" {
  resource_type       = "TransactionalID"
  resource_name       = var.service_id
  acl_principal       = var.principal
  acl_host            = var.host
  acl_operation       = "Write"
  acl_permission_type = "Allow"
}

resource "kafka_acl" "query_transactions" {
  count = var.exactly_once ? 1 : 0

  resource_type                = "TransactionalID"
  resource_name                = local.prefix
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = var.principal
  acl_host                     = var.host
  acl_operation                = "Write"
  acl_permission_type          = "Allow"
}

resource "kafka_topic" "processing_log" {
  name               = "${var.service_id}ksql_processing_log"
  partitions         = 1
  replication_factor = var.replication_factor
}

resource "kafka_acl" "processing_log" {
  for_each = toset(["Read", "Write"])

  resource_type       = "Topic"
  resource_name       = kafka_topic.processing_log.name
  acl_principal       = var.principal
  acl_host            = var.host
  acl_operation       = each.value
  acl_permission_type = "Allow"
}

resource "kafka_acl" "reads" {
  for_each = var.reads

  resource_type       = "Topic"
  resource_name       = each.value
  acl_principal       = var.principal
  acl_host            = var.host
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}

# A query that writes an existing topic compares its retention with the statement.
resource "kafka_acl" "writes" {
  for_each = { for each in setproduct(["DescribeConfigs", "Write"], var.writes) : join(" ", each) => each }

  resource_type       = "Topic"
  resource_name       = each.value[1]
  acl_principal       = var.principal
  acl_host            = var.host
  acl_operation       = each.value[0]
  acl_permission_type = "Allow"
}
