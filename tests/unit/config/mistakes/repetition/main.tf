variable "names" {
  type    = list(string)
  default = ["a", "b"]
}
variable "token" {
  default   = { a = 1 }
  sensitive = true
}
resource "kafka_topic" "list" {
  for_each = var.names
  name     = each.key
}
resource "kafka_topic" "numbers" {
  for_each = toset([1, 2])
  name     = each.key
}
resource "kafka_topic" "null" {
  for_each = null
  name     = each.key
}
resource "kafka_topic" "secret" {
  for_each = var.token
  name     = each.key
}
resource "kafka_topic" "both" {
  for_each = toset(["a"])
  count    = 2
  name     = each.key
}
resource "kafka_topic" "half" {
  count = 1.5
  name  = "half${count.index}"
}
resource "kafka_topic" "negative" {
  count = -1
  name  = "negative"
}
resource "kafka_topic" "word" {
  count = "many"
  name  = "word"
}
resource "kafka_topic" "outside" {
  name = each.key
}
resource "kafka_topic" "instances" {
  for_each = { good = "fine", bad = "not/fine", worse = null }
  name     = each.value
}
output "unkeyed" {
  value = kafka_topic.instances.name
}
output "wrong_key" {
  value = kafka_topic.instances["god"].name
}
