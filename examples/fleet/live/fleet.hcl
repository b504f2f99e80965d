# One broker. Logins by password; the log of its authorizer tells what it allows as well.
cluster "shop" {
  labels        = { environment = "prod", team = "shop" }
  configuration = "shop"
  audit         = ["sandboxes/shop/node-1/authorizer.log"]
  super_users   = ["User:admin", "User:broker"]
  provider "kafka" {
    properties_file = "sandboxes/shop/admin.properties"
  }
}

# Two brokers. Logins by certificate; an authorizer whose log nobody collects.
cluster "stock" {
  labels        = { environment = "prod", team = "stock" }
  configuration = "stock"
  super_users   = ["User:CN=admin", "User:CN=broker"]
  provider "kafka" {
    properties_file = "sandboxes/stock/admin.properties"
  }
}

# One broker, open to all, and declared nowhere.
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
