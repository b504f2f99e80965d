resource "kafka_topic" "orders" {
  name = "more"
}
output "o" {
  value = 2
}
locals {
  x = 2
}
resource "kafka_topic" {
  name = "one label"
}
variable "a" "b" {}
