output "client_properties" {
  description = "Settings for the producer, in the names that Kafka's clients share; a prefix leaves transactional.id to the client."
  value = merge(
    { "acks" = "all", "enable.idempotence" = "true" },
    var.transactional_id_is_prefix ? {} : tomap({ "transactional.id" = var.transactional_id }),
  )
}
