resource "kafka_acl" "one" {
  resource_name       = "orders"
  resource_type       = "Topic"
  acl_principal       = "User:app"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}

resource "kafka_acl" "two" {
  resource_name                = "orders"
  resource_type                = "topic"
  resource_pattern_type_filter = "LITERAL"
  acl_principal                = "User:app"
  acl_host                     = "*"
  acl_operation                = "READ"
  acl_permission_type          = "Allow"
}
