# KIP-201, problem 5: a policy of Kafka sees neither the cluster, nor the rest of the request, nor
# who asks. 20 of 30 partitions are there: the first topic fits, the second does not.
policy "budget" {
  on   = ["create", "alter"]
  kind = "kafka_topic"

  deny {
    condition = cluster.so_far.partitions > 10 * cluster.size
    message   = "${cluster.so_far.partitions} partitions are more than ${cluster.size} brokers are to hold"
    fix       = "Delete what nobody uses; ${cluster.totals.partitions} partitions are there."
  }
}

policy "teams" {
  on   = ["create"]
  kind = "kafka_topic"
  when = principal == "User:kplan"

  deny {
    condition = !startswith(requested.name, "team.")
    message   = "${principal} creates topics of its team only"
  }
}

resource "kafka_topic" "t" {
  for_each           = { "team.first" = 8, "team.second" = 8, "team.third" = 2, "other.topic" = 1 }
  name               = each.key
  partitions         = each.value
  replication_factor = 1
}
