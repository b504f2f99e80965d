output "flag" {
  value     = 1
  sensitive = 5
}

module "inner" {
  source = "./inner"
}
