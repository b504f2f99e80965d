# One cluster in each region. All regions have orders, and one of them has the settlements.

variable "regions" {
  type        = map(string)
  default     = { eu = "kafka.eu.example:9092", us = "kafka.us.example:9092" }
  description = "A bootstrap server of the cluster in each region."
}

variable "home" {
  type        = string
  default     = "eu"
  description = "Region of the settlements."

  validation {
    condition     = contains(keys(var.regions), var.home)
    error_message = "The home must be one of the regions."
  }
}

variable "tls_enabled" {
  type        = bool
  default     = true
  description = "Set to false for sandboxes, which have no TLS."
}

# One connection for each region, with for_each as in OpenTofu.
provider "kafka" {
  alias    = "by_region"
  for_each = var.regions

  bootstrap_servers = [each.value]
  tls_enabled       = var.tls_enabled
}

# The caller passes a connection to the module.
module "orders" {
  source    = "./orders"
  for_each  = var.regions
  providers = { kafka = kafka.by_region[each.key] }

  reader = "User:billing-${each.key}"
}

# A resource selects its connection.
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
