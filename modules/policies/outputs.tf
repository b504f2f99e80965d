output "names" {
  description = "Names of the policies, as overrides and waivers call them."
  value       = local.names
}
