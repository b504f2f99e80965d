# KPLAN_BOOTSTRAP_SERVERS or KPLAN_COMMAND_CONFIG sets the cluster.
provider "kafka" {}

variable "partitions" {
  type        = number
  default     = 3
  description = "Partitions of each topic."
}

resource "kafka_topic" "events" {
  for_each = toset(["orders", "payments"])

  name               = "library.${each.key}"
  partitions         = var.partitions
  replication_factor = 1
}
