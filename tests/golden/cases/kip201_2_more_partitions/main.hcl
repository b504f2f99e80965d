# KIP-201, problem 2: no policy of Kafka checks added partitions. They bypass the limit of a
# CreateTopicPolicy, and no policy can prevent that keys map to other partitions.
policy "partitions" {
  on   = ["create", "alter"]
  kind = "kafka_topic"

  deny {
    condition = requested.partitions > 10
    message   = "${requested.partitions} partitions are more than 10"
  }
}

policy "keys" {
  on   = ["alter"]
  kind = "kafka_topic"
  when = endswith(requested.name, ".keyed")

  deny {
    condition = requested.partitions > current.partitions
    message   = "keys of ${requested.name} would map to other partitions"
  }
}

resource "kafka_topic" "t" {
  for_each           = { "grows.past" = 40, "grows.keyed" = 6, "grows" = 6 }
  name               = each.key
  partitions         = each.value
  replication_factor = 1
}
