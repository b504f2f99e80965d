variable "size" {
  default   = "424242"
  sensitive = true
}

resource "kafka_topic" "orders" {
  name       = "orders"
  partitions = 3

  config = {
    "segment.bytes" = var.size
  }
}
