output "client_properties" {
  description = "Settings of the producer. With a prefix the client sets transactional.id."
  value = merge(
    { "acks" = "all", "enable.idempotence" = "true" },
    var.transactional_id_is_prefix ? {} : tomap({ "transactional.id" = var.transactional_id }),
  )
}
