provider "kafka" {
  bootstrap_servers = ["localhost:9092"]
}

locals {
  regions = toset(["eu", "us"])
}

resource "kafka_topic" "orders" {
  for_each           = local.regions
  name               = "${each.key}.orders.v1"
  partitions         = 6
  replication_factor = 3

  config = {
    "cleanup.policy" = "delete"
    "retention.ms"   = "604800000"
  }
}

resource "kafka_topic" "left_to_the_broker" {
  name = "events"
}

resource "kafka_acl" "billing_reads" {
  resource_name                = "eu."
  resource_type                = "Topic"
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = "User:billing"
  acl_host                     = "*"
  acl_operation                = "Read"
  acl_permission_type          = "Allow"
}
