# KIP-201, problem 5: a policy of Kafka has no access to the cluster, the rest of the request or the
# principal. The cluster has 20 of 30 partitions: the first topic fits, the second does not.
policy "budget" {
  on   = ["create", "alter"]
  kind = "kafka_topic"

  deny {
    condition = cluster.so_far.partitions > 10 * cluster.size
    message   = "${cluster.so_far.partitions} partitions are more than ${cluster.size} brokers may have"
    fix       = "Delete unused topics; the cluster has ${cluster.totals.partitions} partitions."
  }
}

policy "teams" {
  on   = ["create"]
  kind = "kafka_topic"
  when = principal == "User:kplan"

  deny {
    condition = !startswith(requested.name, "team.")
    message   = "${principal} may create only topics of its team"
  }
}

resource "kafka_topic" "t" {
  for_each           = { "team.first" = 8, "team.second" = 8, "team.third" = 2, "other.topic" = 1 }
  name               = each.key
  partitions         = each.value
  replication_factor = 1
}
