variable "environment" {
  default = "dev"
}
locals {
  prefix = "x"
}
resource "kafka_topic" "orders" {
  name       = "${var.enviroment}.orders"
  partitions = local.prefx
}
resource "kafka_topic" "copy" {
  name   = kafka_topic.order.name
  config = kafka_topc.orders.config
}
resource "kafka_topic" "third" {
  name       = kafka_topic.orders.nme
  partitions = environment
}
output "bare" {
  value = [var, local.prefix.x, module.net.id, data.kafka_topic.x.id, self.x, each.key, count.index]
}
