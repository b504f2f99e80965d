resource "kafka_topic" "again" {
  name = "orders"
}

resource "kafka_topic" "other" {
  name = "other"
}
