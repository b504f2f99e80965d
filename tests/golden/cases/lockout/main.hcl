resource "kafka_topic" "orders" {
  name               = "orders"
  partitions         = 1
  replication_factor = 1
}

resource "kafka_acl" "admin" {
  resource_type       = "Cluster"
  resource_name       = "kafka-cluster"
  acl_principal       = "User:kplan"
  acl_host            = "*"
  acl_operation       = "Describe"
  acl_permission_type = "Allow"
}
