resource "kafka_topic" "one" {
  name = "one"
}
resource "kafka_topic" "counted" {
  count = 2
  name  = "counted-${count.index}"
}
resource "kafka_topic" "keyed" {
  for_each = { a = 1 }
  name     = "keyed-${each.key}"
}
locals {
  typo      = kafka_topic.one.nme
  no_place  = kafka_topic.counted.name
  no_key    = kafka_topic.keyed.name
  beyond    = kafka_topic.counted[7].name
  wrong_key = kafka_topic.keyed["b"].name
  bool_key  = kafka_topic.keyed[true].name
  as_text   = "${kafka_topic.one}"
  each_typo = kafka_topic.keyed["a"].partitons
}
output "fine" {
  value = {
    one     = kafka_topic.one
    counted = kafka_topic.counted[*].name
    text    = kafka_topic.counted["1"].name
    keyed   = kafka_topic.keyed
    id      = kafka_topic.one.id
  }
}
