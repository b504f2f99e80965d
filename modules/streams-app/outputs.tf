output "streams_properties" {
  description = "Settings of the Kafka Streams application."
  value = {
    "application.id"       = var.application_id
    "processing.guarantee" = var.processing_guarantee
  }
}

output "internal_prefix" {
  description = "Prefix of the internal topics."
  value       = local.internal
}
