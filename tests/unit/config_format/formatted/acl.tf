resource "kafka_acl" "reader" {
  resource_name       = "orders"
  resource_type       = "Topic"
  acl_principal       = "User:reader"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
