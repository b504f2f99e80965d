resource "kafka_topic" "slash" {
  name = "a/b"
}
resource "kafka_topic" "dot" {
  name = "."
}
resource "kafka_topic" "dots" {
  name = ".."
}
resource "kafka_topic" "empty" {
  name = ""
}
resource "kafka_topic" "long" {
  name = join("", [for i in range(250) : "x"])
}
resource "kafka_topic" "first" {
  name = "a.b"
}
resource "kafka_topic" "second" {
  name = "a_b"
}
resource "kafka_topic" "internal" {
  name = "__consumer_offsets"
}
