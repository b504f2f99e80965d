output "client_properties" {
  description = "Settings of the consumer. With a prefix the client sets group.id."
  value       = var.group == null || var.group_is_prefix ? {} : tomap({ "group.id" = var.group })
}
