variable "retention" {
  default   = "hunter2"
  sensitive = true
}

resource "kafka_topic" "orders" {
  name       = "orders"
  partitions = 3

  config = {
    "retention.ms" = var.retention
  }
}
