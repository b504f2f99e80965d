terraform {
  required_version = ">= 1.9"

  required_providers {
    kafka = {
      source = "Mongey/kafka"
    }
  }
}

# ACLs, groups, quotas, users and the cluster itself.
resource "kafka_acl" "cluster" {
  for_each = toset(["Describe", "DescribeConfigs"])

  resource_type       = "Cluster"
  resource_name       = "kafka-cluster"
  acl_principal       = var.principal
  acl_host            = var.host
  acl_operation       = each.value
  acl_permission_type = "Allow"
}

# Partitions, offsets and configs, for the plan and the impact of a delete.
resource "kafka_acl" "topics" {
  for_each = toset(["Describe", "DescribeConfigs"])

  resource_type       = "Topic"
  resource_name       = "*"
  acl_principal       = var.principal
  acl_host            = var.host
  acl_operation       = each.value
  acl_permission_type = "Allow"
}

# Who reads a topic that is to be deleted.
resource "kafka_acl" "groups" {
  resource_type       = "Group"
  resource_name       = "*"
  acl_principal       = var.principal
  acl_host            = var.host
  acl_operation       = "Describe"
  acl_permission_type = "Allow"
}

# The state of what kplan owns, where it is in a topic.
resource "kafka_acl" "state" {
  count = var.state_topic == null ? 0 : 1

  resource_type       = "Topic"
  resource_name       = var.state_topic
  acl_principal       = var.principal
  acl_host            = var.host
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
