resource "kafka_topic" "orders" {
  name = "orders"
}
output "o" {
  value = 1
}
locals {
  x = 1
}
