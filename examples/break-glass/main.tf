# A cluster that can be mended while none of its brokers runs.

provider "kafka" {
  # Brokers come from KPLAN_BOOTSTRAP_SERVERS. Where none answers, -bootstrap-controller names
  # controllers to ask in their place.
  allow_direct = var.break_glass
}

variable "break_glass" {
  description = "Whether controllers may be changed past the brokers; for emergencies."
  type        = bool
  default     = false
}

variable "replication_factor" {
  type    = number
  default = 1
}

variable "retention" {
  description = "How long payments are kept, in milliseconds."
  type        = number
  default     = 604800000
}

variable "cleaner_threads" {
  description = "Threads of every broker that compact topics."
  type        = number
  default     = 2
}

variable "payments" {
  description = "Who may write payments."
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

# What every broker is told when it starts: a bad value here can keep all of them from starting.
resource "kafka_broker_config" "all" {
  config = { "log.cleaner.threads" = var.cleaner_threads }
}

resource "kafka_group_config" "ledger" {
  group_id = "ledger"
  config   = { "consumer.session.timeout.ms" = 50000 }
}

# Controllers take quotas and do not tell them: this one waits until brokers are back.
resource "kafka_quota" "payments" {
  entity_type = "user"
  entity_name = "payments"
  config      = { "producer_byte_rate" = 10485760 }
}
