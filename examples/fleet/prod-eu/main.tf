provider "kafka" {}

resource "kafka_topic" "orders" {
  name               = "shop.orders"
  partitions         = 12
  replication_factor = 3
  config             = { "retention.ms" = "604800000" }
}

resource "kafka_topic" "invoices" {
  name               = "shop.invoices"
  partitions         = 6
  replication_factor = 3
}

resource "kafka_acl" "billing" {
  resource_type                = "Topic"
  resource_name                = "shop."
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = "User:billing"
  acl_host                     = "*"
  acl_operation                = "Read"
  acl_permission_type          = "Allow"
}
