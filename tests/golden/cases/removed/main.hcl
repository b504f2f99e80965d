resource "kafka_topic" "kept" {
  name               = "kept"
  partitions         = 3
  replication_factor = 2
}
removed {
  from = kafka_topic.orders
  lifecycle {
    destroy = false
  }
}
removed {
  from = module.old
  lifecycle {
    destroy = false
  }
}
removed {
  from = kafka_topic.audit
}
