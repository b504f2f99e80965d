output "names" {
  description = "Names of the policies, for overrides and waivers."
  value       = local.names
}
