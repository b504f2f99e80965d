locals {
  a = local.b
  c = "${local.a}!"
}
resource "kafka_topic" "t" {
  name = local.a
}
resource "kafka_topic" "x" {
  name = kafka_topic.y.name
}
resource "kafka_topic" "y" {
  name = kafka_topic.x.name
}
