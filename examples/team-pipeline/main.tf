provider "kafka" {}

variable "team" {
  type    = string
  default = "shop"
}

variable "source_file" {
  description = "The file whose lines are the records, on the machine of the worker."
  type        = string
  default     = "/var/spool/orders.txt"
}

locals {
  topic = "${var.team}.orders"
}

resource "kafka_topic" "orders" {
  name               = local.topic
  partitions         = 3
  replication_factor = 1
  config             = { "retention.ms" = "604800000" }
}

resource "kafka_acl" "consumer" {
  for_each = { Topic = local.topic, Group = "${var.team}.billing" }

  resource_type       = each.key
  resource_name       = each.value
  acl_principal       = "User:${var.team}-billing"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}

resource "kafka_quota" "consumer" {
  entity_type = "user"
  entity_name = "${var.team}-billing"
  config      = { "consumer_byte_rate" = "1048576" }
}

resource "kafka_schema" "orders" {
  subject             = "${local.topic}-value"
  schema              = file("${path.module}/order.avsc")
  compatibility_level = "BACKWARD"
}

resource "kafka_connector" "orders" {
  name = "${var.team}-orders"
  config = {
    "connector.class" = "org.apache.kafka.connect.file.FileStreamSourceConnector"
    "tasks.max"       = 1
    "file"            = var.source_file
    "topic"           = kafka_topic.orders.name
  }
}
