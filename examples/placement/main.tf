# Where replicas stand: placed by kplan, written out, or left to the brokers.

provider "kafka" {
  # The cluster comes from KPLAN_BOOTSTRAP_SERVERS, as `kplan sandbox start -brokers=3` sets it.
}

variable "replication_factor" {
  description = "Copies of each partition; a change of it moves replicas."
  type        = number
  default     = 2
}

# Every partition in as many racks as there are, every broker with its share.
resource "kafka_topic" "orders" {
  name               = "placement.orders"
  partitions         = 6
  replication_factor = var.replication_factor
  placement          = { strategy = "rack-aware" }
}

# Only who leads is evened out; replicas stay where they are as far as that can be.
resource "kafka_topic" "clicks" {
  name               = "placement.clicks"
  partitions         = 6
  replication_factor = var.replication_factor
  placement          = { strategy = "balanced-leaders" }
}

# Brokers named one by one, the preferred leader first.
resource "kafka_topic" "audit" {
  name               = "placement.audit"
  placement          = { strategy = "static" }
  replica_assignment = [[1, 2], [2, 3], [3, 1]]
}

# Without a placement the brokers choose once. A change of the factor adds or takes replicas, and
# moves no other.
resource "kafka_topic" "mail" {
  name               = "placement.mail"
  partitions         = 2
  replication_factor = var.replication_factor
}

# KIP-201 in kplan: a reassignment is an alter, with the topic as it will be.
policy "no_single_copy" {
  on   = ["create", "alter"]
  kind = "kafka_topic"

  deny {
    condition = requested.replication_factor < 2
    message   = "${change.identity} would have one copy of its records"
    fix       = "Declare replication_factor = 2 or more."
  }
}
