resource "kafka_topic" "orders" {
  name               = "or/ders"
  partitions         = 3
  replication_factor = 2
}

resource "kafka_topic" "events" {
  name               = "events"
  partitions         = 0
  replication_factor = 2
}

resource "kafka_topic" "twice" {
  name       = var.nmae
  partitions = 3
  partitions = 6
}

variable "name" {}

resource "kafka_acl" "odd" {
  resource_name       = "orders"
  resource_type       = "Topik"
  acl_principal       = "billing"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}
