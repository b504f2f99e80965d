# Cases that the policies of the platform team refuse, and cases that they allow.

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

case "too many partitions" {
  on        = "create"
  requested = { name = "shop.orders", partitions = 13, replication_factor = 3 }
  policy    = "partitions"
  expect    = "deny"
  message   = "13 partitions are more than 12"
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

case "a name of its own" {
  on        = "create"
  requested = { name = "shop.events-v1", partitions = 6, replication_factor = 3 }
  policy    = "one_spelling"
  expect    = "pass"
}

case "a name that is there in another spelling" {
  on        = "create"
  requested = { name = "shop-events", partitions = 6, replication_factor = 3 }
  policy    = "one_spelling"
  expect    = "deny"
  message   = "shop-events is shop.events in another spelling"
}
