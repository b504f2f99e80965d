# One broker. Logins with passwords; the log of its authorizer also has allowed requests.
cluster "shop" {
  labels        = { environment = "prod", team = "shop" }
  configuration = "shop"
  audit         = ["sandboxes/shop/node-1/authorizer.log"]
  super_users   = ["User:admin", "User:broker"]
  provider "kafka" {
    properties_file = "sandboxes/shop/admin.properties"
  }
}

# Two brokers. Logins with certificates; the log of the authorizer is not collected.
cluster "stock" {
  labels        = { environment = "prod", team = "stock" }
  configuration = "stock"
  super_users   = ["User:CN=admin", "User:CN=broker"]
  provider "kafka" {
    properties_file = "sandboxes/stock/admin.properties"
  }
}

# One broker without authorization and without a configuration.
cluster "lab" {
  labels      = { environment = "lab", team = "everyone" }
  super_users = ["User:ANONYMOUS"]
  provider "kafka" {
    properties_file = "sandboxes/lab/anonymous.properties"
  }
}

store {
  path = "tables"
}
