output "flag" {
  value     = 1
  sensitive = "maybe"
}
