resource "kafka_acl" "billing" {
  resource_name                = "eu.orders."
  resource_type                = "Topic"
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = "User:billing"
  acl_host                     = "*"
  acl_operation                = "Read"
  acl_permission_type          = "Allow"
}

resource "kafka_acl" "audit" {
  resource_name                = "eu.orders.v1"
  resource_type                = "Topic"
  acl_principal                = "User:audit"
  acl_host                     = "*"
  acl_operation                = "Describe"
  acl_permission_type          = "Allow"
}
