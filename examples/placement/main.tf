# Placement of replicas by kplan, by an explicit list, or by the brokers.

provider "kafka" {
  # KPLAN_BOOTSTRAP_SERVERS sets the cluster; `kplan sandbox start -brokers=3` prints it.
}

variable "replication_factor" {
  description = "Replicas of each partition. A change moves replicas."
  type        = number
  default     = 2
}

# Spread each partition over all racks, and distribute replicas evenly over brokers.
resource "kafka_topic" "orders" {
  name               = "placement.orders"
  partitions         = 6
  replication_factor = var.replication_factor
  placement          = { strategy = "rack-aware" }
}

# Distribute only leaders evenly, and move as few replicas as possible.
resource "kafka_topic" "clicks" {
  name               = "placement.clicks"
  partitions         = 6
  replication_factor = var.replication_factor
  placement          = { strategy = "balanced-leaders" }
}

# List the brokers of each partition. The first is the preferred leader.
resource "kafka_topic" "audit" {
  name               = "placement.audit"
  placement          = { strategy = "static" }
  replica_assignment = [[1, 2], [2, 3], [3, 1]]
}

# Without a placement the brokers choose once. A change of the replication factor adds or removes
# replicas, and moves no others.
resource "kafka_topic" "mail" {
  name               = "placement.mail"
  partitions         = 2
  replication_factor = var.replication_factor
}

# A policy in the model of KIP-201: a reassignment is an alter with the resulting topic.
policy "no_single_copy" {
  on   = ["create", "alter"]
  kind = "kafka_topic"

  deny {
    condition = requested.replication_factor < 2
    message   = "${change.identity} would have only one replica"
    fix       = "Declare replication_factor = 2 or more."
  }
}
