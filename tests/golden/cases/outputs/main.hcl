resource "kafka_topic" "orders" {
  name               = "orders"
  partitions         = 3
  replication_factor = 2
}

variable "password" {
  default   = "hunter2"
  sensitive = true
}

output "names" {
  value = [kafka_topic.orders.name, "x"]
}

output "password" {
  value     = var.password
  sensitive = true
}

output "tree" {
  value = { a = { b = 2 }, c = true }
}
