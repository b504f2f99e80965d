output "client_properties" {
  description = "Settings for the consumer, in the names that Kafka's clients share; a prefix leaves group.id to the client."
  value       = var.group == null || var.group_is_prefix ? {} : tomap({ "group.id" = var.group })
}
