provider "kafka" {
  properties_file = "../sandboxes/shop/admin.properties"
}

resource "kafka_topic" "orders" {
  name               = "shop.orders"
  partitions         = 3
  replication_factor = 1
  config             = { "retention.ms" = "604800000" }
}

resource "kafka_topic" "exports" {
  name               = "shop.exports" # unused
  partitions         = 1
  replication_factor = 1
}

resource "kafka_acl" "alice" {
  for_each            = toset(["Read", "Write"])
  resource_type       = "Topic"
  resource_name       = kafka_topic.orders.name
  acl_principal       = "User:alice"
  acl_host            = "*"
  acl_operation       = each.key
  acl_permission_type = "Allow"
}

resource "kafka_acl" "groups" {
  resource_type                = "Group"
  resource_name                = "shop."
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = "User:alice"
  acl_host                     = "*"
  acl_operation                = "Read"
  acl_permission_type          = "Allow"
}

resource "kafka_acl" "exporter" {
  resource_type       = "Topic"
  resource_name       = kafka_topic.exports.name
  acl_principal       = "User:exporter" # this user no longer exists
  acl_host            = "*"
  acl_operation       = "Write"
  acl_permission_type = "Allow"
}
