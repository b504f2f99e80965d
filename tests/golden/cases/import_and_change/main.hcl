locals {
  names = { orders = 6, audit = 3 }
}
resource "kafka_topic" "t" {
  for_each           = local.names
  name               = each.key
  partitions         = each.value
  replication_factor = 2
}
import {
  for_each = local.names
  to       = kafka_topic.t[each.key]
  id       = each.key
}
