provider "kafka" {
  acl_order = "add_first"
}
resource "kafka_acl" "swapped" {
  resource_name       = "orders"
  resource_type       = "Topic"
  acl_principal       = "User:app"
  acl_host            = "*"
  acl_operation       = "Write"
  acl_permission_type = "Allow"
}
resource "kafka_acl" "denied" {
  resource_name       = "orders"
  resource_type       = "Topic"
  acl_principal       = "User:app"
  acl_host            = "*"
  acl_operation       = "Write"
  acl_permission_type = "Deny"
}
resource "kafka_acl" "own_order" {
  resource_name       = "orders"
  resource_type       = "Topic"
  acl_principal       = "User:other"
  acl_host            = "*"
  acl_operation       = "Describe"
  acl_permission_type = "Allow"
  lifecycle {
    create_before_destroy = false
  }
}
