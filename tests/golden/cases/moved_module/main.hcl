module "pay" {
  for_each = toset(["eu"])
  source   = "./topics"
  name     = each.key
}
moved {
  from = module.payments
  to   = module.pay
}
moved {
  from = kafka_acl.read
  to   = kafka_acl.write
}
resource "kafka_acl" "write" {
  resource_name       = "orders"
  resource_type       = "Topic"
  acl_principal       = "User:app"
  acl_host            = "*"
  acl_operation       = "Write"
  acl_permission_type = "Allow"
}
