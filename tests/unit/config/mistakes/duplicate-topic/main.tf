resource "kafka_topic" "orders" {
  name = "orders"
}
