resource "kafka_topic" "orders" {
  name               = "orders"
  partitions         = 6
  replication_factor = 2
}

resource "kafka_topic" "fresh" {
  name               = "fresh"
  partitions         = 3
  replication_factor = 2
}

resource "kafka_acl" "billing" {
  resource_name                = "orders."
  resource_type                = "Topic"
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = "User:billing"
  acl_host                     = "*"
  acl_operation                = "Read"
  acl_permission_type          = "Allow"
}

resource "kafka_acl" "zoe" {
  resource_name                = "orders"
  resource_type                = "Topic"
  acl_principal                = "User:zoe"
  acl_host                     = "*"
  acl_operation                = "Read"
  acl_permission_type          = "Allow"
}
