# A cluster in each region: every region has its orders, and one of them settles for all.

variable "regions" {
  type        = map(string)
  default     = { eu = "kafka.eu.example:9092", us = "kafka.us.example:9092" }
  description = "One address of the cluster of each region."
}

variable "home" {
  type        = string
  default     = "eu"
  description = "Region whose cluster has what there is once."

  validation {
    condition     = contains(keys(var.regions), var.home)
    error_message = "The home is one of the regions."
  }
}

variable "tls_enabled" {
  type        = bool
  default     = true
  description = "False for sandboxes, which speak no TLS."
}

# One connection for each region, in OpenTofu's form.
provider "kafka" {
  alias    = "by_region"
  for_each = var.regions

  bootstrap_servers = [each.value]
  tls_enabled       = var.tls_enabled
}

# A module is handed a connection, and needs to know nothing of regions.
module "orders" {
  source    = "./orders"
  for_each  = var.regions
  providers = { kafka = kafka.by_region[each.key] }

  reader = "User:billing-${each.key}"
}

# A resource names its connection itself.
resource "kafka_topic" "settlements" {
  provider           = kafka.by_region[var.home]
  name               = "shop.settlements"
  partitions         = 1
  replication_factor = 1
}

output "topics" {
  description = "Names of the topics on the cluster of each region."
  value       = { for region, each in module.orders : region => each.topic }
}
