# Topics of a shop, checked by the policies of the platform team.
# KPLAN_BOOTSTRAP_SERVERS or KPLAN_COMMAND_CONFIG sets the cluster.
provider "kafka" {}

variable "replication_factor" {
  type        = number
  default     = 1
  description = "Replicas of each partition; 3 in production."
}

module "policies" {
  source = "../../modules/policies"

  min_replication_factor = var.replication_factor
  max_partitions         = 12
  max_cluster_partitions = 60
  owners                 = { "User:ci-shop" = ["shop."] }
  waivers = [{
    policy     = "partitions"
    owner      = "team-shop"
    reason     = "load test of May"
    expires    = "2027-05-31"
    applies_to = ["shop.load"]
  }]
}

# A policy in Python beside those of the module; each policy is asked about every change.
policies {
  paths    = ["checks.py"]
  settings = { domains = ["shop"] }
}

resource "kafka_topic" "orders" {
  name               = "shop.orders"
  partitions         = 6
  replication_factor = var.replication_factor
}
