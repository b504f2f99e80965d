output "principal" {
  description = "The principal of the producer."
  value       = var.principal
}

output "client_properties" {
  description = "Settings of the producer."
  value = {
    "acks"               = "all"
    "enable.idempotence" = "true"
  }
}
