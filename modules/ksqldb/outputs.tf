output "server_properties" {
  description = "Settings of the ksqlDB servers."
  value = {
    "ksql.service.id"                    = var.service_id
    "ksql.logging.processing.topic.name" = kafka_topic.processing_log.name
    "ksql.streams.processing.guarantee"  = var.exactly_once ? "exactly_once_v2" : "at_least_once"
  }
}
