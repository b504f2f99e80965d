# Users, quotas and settings of a cluster.

provider "kafka" {
  # KPLAN_BOOTSTRAP_SERVERS sets the cluster; `kplan sandbox start` prints it.
}

variable "passwords" {
  description = "A password and its version for each user. A new version sets the password again."
  type        = map(object({ value = string, version = string }))
  sensitive   = true
  default = {
    checkout = { value = "for-trying-only", version = "1" }
    reports  = { value = "for-trying-only-too", version = "1" }
  }
}

resource "kafka_user_scram_credential" "app" {
  for_each = toset(["checkout", "reports"])

  username            = each.key
  scram_mechanism     = "SCRAM-SHA-512"
  scram_iterations    = 8192
  password_wo         = var.passwords[each.key].value
  password_wo_version = nonsensitive(var.passwords[each.key].version)
}

# The default for users without their own quota.
resource "kafka_quota" "everyone" {
  entity_type = "user"
  config      = { "producer_byte_rate" = 1048576, "consumer_byte_rate" = 2097152 }
}

# One client id of one user.
resource "kafka_quota" "nightly" {
  entity_type = "user"
  entity_name = "reports"
  client_id   = "nightly"
  config      = { "consumer_byte_rate" = 10485760, "request_percentage" = 12.5 }
}

# Dynamic settings of all brokers. Other keys stay unchanged.
resource "kafka_broker_config" "all" {
  config = { "background.threads" = 12 }
}

resource "kafka_group_config" "reports" {
  group_id = "reports"
  config   = { "consumer.session.timeout.ms" = 50000 }
}

# Consumers push these metrics to the brokers (KIP-714).
resource "kafka_client_metrics" "consumers" {
  name   = "consumers"
  config = { "interval.ms" = 60000, "metrics" = "org.apache.kafka.consumer." }
}

# Keep the consumer group protocol of KIP-848 enabled.
resource "kafka_feature" "group" {
  name  = "group.version"
  level = 1
}
