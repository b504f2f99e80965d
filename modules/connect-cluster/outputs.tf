output "worker_properties" {
  description = "Settings of the Kafka Connect workers."
  value = {
    "group.id"                    = var.group_id
    "config.storage.topic"        = kafka_topic.internal["config"].name
    "offset.storage.topic"        = kafka_topic.internal["offset"].name
    "status.storage.topic"        = kafka_topic.internal["status"].name
    "exactly.once.source.support" = var.exactly_once_source ? "enabled" : "disabled"
  }
}
