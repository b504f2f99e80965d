provider "kafka" {
  properties_file = "../sandboxes/stock/admin.properties"
}

resource "kafka_topic" "levels" {
  name               = "stock.levels"
  partitions         = 4
  replication_factor = 2
}

resource "kafka_acl" "everything" {
  resource_type                = "Topic"
  resource_name                = "stock."
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = "User:CN=alice"
  acl_host                     = "*"
  acl_operation                = "Read"
  acl_permission_type          = "Allow"
}

resource "kafka_acl" "levels" {
  resource_type       = "Topic"
  resource_name       = kafka_topic.levels.name # covered by the ACL above
  acl_principal       = "User:CN=alice"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
