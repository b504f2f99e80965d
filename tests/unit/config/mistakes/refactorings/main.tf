resource "kafka_topic" "a" {
  name               = "a"
  partitions         = 1
  replication_factor = 1
}
resource "kafka_topic" "many" {
  for_each           = toset(["x", "y"])
  name               = "many.${each.key}"
  partitions         = 1
  replication_factor = 1
}
variable "secret" {
  default   = "s"
  sensitive = true
}
module "net" {
  for_each = toset(["eu"])
  source   = "./net"
}
moved {
  from = kafka_topic.a
  to   = kafka_topic.b
}
moved {
  from = kafka_topic.many["x"]
  to   = kafka_topic.a
}
moved {
  from = kafka_topic.same
  to   = kafka_topic.same
}
moved {
  from = kafka_topic.c
  to   = kafka_acl.c
}
moved {
  from = module.old
  to   = kafka_topic.c
}
moved {
  from = kafka_topic.one
  to   = kafka_topic.two
}
moved {
  from = kafka_topic.one
  to   = kafka_topic.three
}
moved {
  from = kafka_topic.four
  to   = kafka_topic.two
}
moved {
  from = kafka_topic.ring1
  to   = kafka_topic.ring2
}
moved {
  from = kafka_topic.ring2
  to   = kafka_topic.ring1
}
moved {
  from = kafka_topic
  to   = kafka_topic.z[each.key]
}
moved {
  from = kafka_topic.z[var.secret]
  to   = data.kafka_topic.z
}
moved {
  from = kafka_topic.lonely
}
removed {
  from = kafka_topic.a
}
removed {
  from = kafka_topic.many["y"]
}
removed {
  from = module.net
  lifecycle {
    destroy = false
  }
}
removed {
  from = kafka_topic.gone
  lifecycle {
    destory = false
  }
}
removed {
  from = kafka_topic.gone2
  lifecycle {
    destroy = "perhaps"
  }
}
import {
  to = kafka_topic.nowhere
  id = "n"
}
import {
  to = kafka_topic.many["z"]
  id = "many.z"
}
import {
  to = module.net
  id = "net"
}
import {
  to = kafka_topic.a
  id = var.secret
}
import {
  to = kafka_topic.a
  id = null
}
import {
  to = kafka_topic.many["x"]
  id = ["many.x"]
}
import {
  to = kafka_topic.many["x"]
  id = "many.x"
}
import {
  to = kafka_topic.many["x"]
  id = "many.y"
}
import {
  to = kafka_topic.many["y"]
  id = "many.x"
}
import {
  for_each = { x = true }
  to       = kafka_topic.many[each.value]
  id       = local.missing
}
