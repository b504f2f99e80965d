# The objects of this cluster. `kplan plan` shows the changes, `kplan apply` makes them.
# All blocks and attributes: kplan schema -markdown. Tutorial: kplan help tutorial.

# The connection. Set addresses and passwords in the environment: KPLAN_BOOTSTRAP_SERVERS,
# KPLAN_SASL_MECHANISM, KPLAN_SASL_USERNAME and KPLAN_SASL_PASSWORD, or KPLAN_COMMAND_CONFIG with
# the path of a client properties file. TLS is on unless KPLAN_TLS_ENABLED=false or tls_enabled = false.
provider "kafka" {}

# The state records the objects that kplan owns; kplan deletes no others. It is in state/kplan.json;
# commit it. A pipeline without a persistent disk can store it in a topic of the cluster:
# state {
#   backend = "kafka"
# }

variable "replication_factor" {
  type        = number
  default     = 3
  description = "Replicas of each partition; 1 on a cluster with one broker, such as kplan sandbox start."
}

resource "kafka_topic" "orders" {
  name               = "shop.orders"
  partitions         = 6
  replication_factor = var.replication_factor
  config = {
    "retention.ms" = "604800000" # 7 days
  }
}

resource "kafka_acl" "checkout_writes_orders" {
  resource_type       = "Topic"
  resource_name       = kafka_topic.orders.name
  acl_principal       = "User:checkout"
  acl_host            = "*"
  acl_operation       = "Write"
  acl_permission_type = "Allow"
}

# One block declares many similar topics with for_each:
# resource "kafka_topic" "events" {
#   for_each           = { shipped = 3, returned = 1 }
#   name               = "shop.${each.key}"
#   partitions         = each.value
#   replication_factor = var.replication_factor
# }

# Import objects that already exist with kplan import, or here:
# import {
#   to = kafka_topic.orders
#   id = "shop.orders"
# }
