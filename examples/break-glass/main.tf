# A cluster that can be repaired while no broker is running.

provider "kafka" {
  # Brokers come from KPLAN_BOOTSTRAP_SERVERS. While no broker is running, -bootstrap-controller sets
  # controllers instead.
  allow_direct = var.break_glass
}

variable "break_glass" {
  description = "Whether changes on controllers are allowed; for emergencies."
  type        = bool
  default     = false
}

variable "replication_factor" {
  type    = number
  default = 1
}

variable "retention" {
  description = "Retention of payments in milliseconds."
  type        = number
  default     = 604800000
}

variable "cleaner_threads" {
  description = "Threads for compaction on each broker."
  type        = number
  default     = 2
}

variable "payments" {
  description = "Principal that may write payments."
  type        = string
  default     = "User:payments"
}

resource "kafka_topic" "payments" {
  name               = "payments"
  partitions         = 2
  replication_factor = var.replication_factor
  config             = { "retention.ms" = var.retention }
}

resource "kafka_acl" "writer" {
  resource_type       = "Topic"
  resource_name       = kafka_topic.payments.name
  acl_principal       = var.payments
  acl_host            = "*"
  acl_operation       = "Write"
  acl_permission_type = "Allow"
}

# Each broker reads these settings at startup. An invalid value can prevent all brokers from starting.
resource "kafka_broker_config" "all" {
  config = { "log.cleaner.threads" = var.cleaner_threads }
}

resource "kafka_group_config" "ledger" {
  group_id = "ledger"
  config   = { "consumer.session.timeout.ms" = 50000 }
}

# Controllers do not return quotas, so kplan does not change this quota until brokers are available.
resource "kafka_quota" "payments" {
  entity_type = "user"
  entity_name = "payments"
  config      = { "producer_byte_rate" = 10485760 }
}
