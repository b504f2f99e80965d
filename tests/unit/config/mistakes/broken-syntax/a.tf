resource "kafka_topic" "quote" {
  name = "orders
}

resource "kafka_topic" "fine" {
  name = "fine"
  nonsense = 1
}

resource "kafka_topic" "brace" {
  name = "brace"
  config = {
    "retention.ms" = 1

resource "kafka_topic" "operator" {
  name = "operator"
  partitions = 3 +
}

resource "kafka_topic" "missing" {
  name "missing"
}

locals {
  a = 'single'
}
