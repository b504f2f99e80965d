# What this cluster is to hold. `kplan plan` shows what would change, `kplan apply` does it.
# Every kind of block and its attributes: kplan schema -markdown. A tutorial: kplan help tutorial.

# The connection. Addresses and passwords are better not written here: KPLAN_BOOTSTRAP_SERVERS,
# KPLAN_SASL_MECHANISM, KPLAN_SASL_USERNAME and KPLAN_SASL_PASSWORD, or a client properties file
# named by KPLAN_COMMAND_CONFIG, say the same. Without TLS: tls_enabled = false.
provider "kafka" {}

# The state tells what kplan owns, and only that is ever deleted. It lies in state/kplan.json, to be
# kept in git; a pipeline without a disk keeps it in a topic of the cluster itself:
# state {
#   backend = "kafka"
# }

variable "replication_factor" {
  type        = number
  default     = 3
  description = "Copies of each partition; 1 on a cluster of one broker, as `kplan sandbox start` is."
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

# Many topics of one sort are one block with for_each:
# resource "kafka_topic" "events" {
#   for_each           = { shipped = 3, returned = 1 }
#   name               = "shop.${each.key}"
#   partitions         = each.value
#   replication_factor = var.replication_factor
# }

# What exists already is adopted, not made anew: kplan import -help, or here:
# import {
#   to = kafka_topic.orders
#   id = "shop.orders"
# }
