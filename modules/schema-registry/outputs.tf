output "registry_properties" {
  description = "Settings of the registry."
  value = {
    "kafkastore.topic"         = kafka_topic.schemas.name
    "schema.registry.group.id" = var.group_id
  }
}
