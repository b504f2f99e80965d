output "streams_properties" {
  description = "Settings of the application, in the names of Kafka Streams."
  value = {
    "application.id"       = var.application_id
    "processing.guarantee" = var.processing_guarantee
  }
}

output "internal_prefix" {
  description = "What the names of the internal topics begin with."
  value       = local.internal
}
