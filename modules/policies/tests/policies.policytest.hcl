# A case for each rule of the module, refused and allowed:
# kplan policy test -coverage -var-file=tests/policies.tfvars

cluster {
  brokers = 3

  resource "kafka_topic" "prices" {
    name               = "shop.prices"
    partitions         = 6
    replication_factor = 3
    config             = { "cleanup.policy" = "compact", "min.insync.replicas" = "2" }
  }

  resource "kafka_topic" "events" {
    name               = "shop.events"
    partitions         = 6
    replication_factor = 3
  }
}

case "a plain topic" {
  on        = "create"
  requested = { name = "shop.orders", partitions = 6, replication_factor = 3 }
  expect    = "pass"
}

case "a name without a domain" {
  on        = "create"
  requested = { name = "orders", partitions = 6, replication_factor = 3 }
  policy    = "topic_name"
  expect    = "deny"
  message   = "does not match"
}

case "too few replicas" {
  on        = "create"
  requested = { name = "shop.orders", partitions = 6, replication_factor = 0 }
  policy    = "replication_factor"
  expect    = "deny"
}

case "fewer replicas than before" {
  on        = "alter"
  requested = { name = "shop.events", replication_factor = 0 }
  policy    = "replication_factor"
  expect    = "deny"
}

case "producers that stop when one broker fails" {
  on = "create"
  requested = {
    name               = "shop.orders"
    partitions         = 6
    replication_factor = 3
    config             = { "min.insync.replicas" = "3" }
  }
  policy  = "min_insync_replicas"
  expect  = "deny"
  message = "all 3 replicas"
}

case "too many partitions" {
  on        = "create"
  requested = { name = "shop.orders", partitions = 13, replication_factor = 3 }
  policy    = "partitions"
  expect    = "deny"
  message   = "13 partitions are more than 12"
}

case "an increase beyond the limit" {
  on        = "alter"
  requested = { name = "shop.events", partitions = 40 }
  policy    = "partitions"
  expect    = "deny"
}

case "a valid waiver" {
  on        = "create"
  requested = { name = "shop.load", partitions = 40, replication_factor = 3 }
  policy    = "partitions"
  today     = "2027-05-31"
  expect    = "waived"
}

case "an expired waiver" {
  on        = "create"
  requested = { name = "shop.load", partitions = 40, replication_factor = 3 }
  policy    = "partitions"
  today     = "2027-06-01"
  expect    = "deny"
}

case "more partitions than the cluster allows" {
  on        = "create"
  requested = { name = "shop.orders", partitions = 49, replication_factor = 1 }
  policy    = "cluster_partitions"
  expect    = "deny"
  message   = "would have 61 partitions"
}

case "as many partitions as the cluster allows" {
  on        = "create"
  requested = { name = "shop.orders", partitions = 48, replication_factor = 1 }
  policy    = "cluster_partitions"
  expect    = "pass"
}

case "few replicas for each broker" {
  on        = "create"
  requested = { name = "shop.orders", partitions = 12, replication_factor = 3 }
  policy    = "broker_partitions"
  expect    = "pass"
}

case "too many replicas for each broker" {
  on        = "create"
  requested = { name = "shop.orders", partitions = 4000, replication_factor = 3 }
  policy    = "broker_partitions"
  expect    = "deny"
  message   = "each of 3 brokers"
}

case "a retention of one year" {
  on = "create"
  requested = {
    name               = "shop.orders"
    partitions         = 6
    replication_factor = 3
    config             = { "retention.ms" = "31536000000" }
  }
  policy = "retention"
  expect = "deny"
}

case "an unlimited retention" {
  on        = "alter"
  requested = { name = "shop.events", config = { "retention.ms" = "-1" } }
  policy    = "retention"
  expect    = "deny"
  message   = "unlimited"
}

case "a change to a compacted topic" {
  on        = "alter"
  requested = { name = "shop.events", config = { "cleanup.policy" = "compact" } }
  policy    = "compaction"
  expect    = "deny"
}

case "permissions for all principals" {
  on   = "create"
  kind = "kafka_acl"
  requested = {
    resource_name       = "shop.orders"
    resource_type       = "Topic"
    acl_principal       = "User:*"
    acl_host            = "*"
    acl_operation       = "Read"
    acl_permission_type = "Allow"
  }
  policy = "wildcard_principal"
  expect = "deny"
}

case "a topic of another team" {
  on        = "create"
  requested = { name = "bank.orders", partitions = 6, replication_factor = 3 }
  principal = "User:ci-shop"
  policy    = "ownership"
  expect    = "deny"
  message   = "does not begin with shop."
}

case "a topic of the same team" {
  on        = "delete"
  topic     = "shop.events"
  principal = "User:ci-shop"
  policy    = "ownership"
  expect    = "pass"
}

case "an ACL on a topic of another team" {
  on   = "create"
  kind = "kafka_acl"
  requested = {
    resource_name       = "bank.orders"
    resource_type       = "Topic"
    acl_principal       = "User:shop"
    acl_host            = "*"
    acl_operation       = "Read"
    acl_permission_type = "Allow"
  }
  principal = "User:ci-shop"
  policy    = "ownership"
  expect    = "deny"
}

case "keys that map to other partitions" {
  on        = "alter"
  requested = { name = "shop.prices", partitions = 12 }
  policy    = "partitions_of_keys"
  expect    = "deny"
}

case "records of a key out of order" {
  on        = "alter"
  requested = { name = "shop.events", partitions = 12 }
  policy    = "partitions_of_keys"
  expect    = "warn"
}

case "the latest values of keys" {
  on      = "delete_records"
  topic   = "shop.prices"
  offsets = { "0" = 100 }
  policy  = "records"
  expect  = "deny"
}

case "old events" {
  on      = "delete_records"
  topic   = "shop.events"
  offsets = { "0" = 100 }
  expect  = "pass"
}
