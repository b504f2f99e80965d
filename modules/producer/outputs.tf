output "principal" {
  description = "Who may write, as given."
  value       = var.principal
}

output "client_properties" {
  description = "Settings for the producer, in the names that Kafka's clients share."
  value = {
    "acks"               = "all"
    "enable.idempotence" = "true"
  }
}
