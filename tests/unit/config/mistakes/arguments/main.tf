resource "kafka_topic" "typo" {
  name      = "typo"
  partitons = 3
}
resource "kafka_topic" "missing" {
  partitions = 3
}
resource "kafka_topic" "types" {
  name               = ["a"]
  partitions         = "twelve"
  replication_factor = 1.5
  config             = "none"
}
resource "kafka_topic" "null" {
  name = null
}
resource "kafka_topic" "block" {
  name = "block"
  config {
    retention = 1
  }
  lifecycle {
    prevent_destry = true
  }
}
resource "kafka_topic" "lifecycle" {
  name = "lifecycle"
  lifecycle {
    prevent_destroy = "maybe"
  }
}
resource "kafka_topic" "ignored" {
  name = "ignored"
  lifecycle {
    ignore_changes = [partitons, 1 + 1]
  }
}
resource "kafka_topic" "both" {
  name               = "both"
  partitions         = 3
  replica_assignment = [[1, 2], [2, 3]]
}
resource "kafka_acl" "words" {
  resource_name       = "orders"
  resource_type       = "Topik"
  acl_principal       = "app"
  acl_host            = "*"
  acl_operation       = "Reed"
  acl_permission_type = "Allow"
}
resource "kafka_topic" "kept" {
  name            = "kept"
  prevent_destroy = true
}
resource "kafka_acl" "swapped" {
  resource_type       = "Topic"
  resource_name       = "kept"
  acl_principal       = "User:app"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
  acl_order           = "add_first"
}
