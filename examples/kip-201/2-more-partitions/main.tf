# KIP-201, problem 2: adding partitions is covered by no policy of Kafka, so that the limit of a
# CreateTopicPolicy is walked around; and that keys go elsewhere is nobody's business.
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
    message   = "keys of ${requested.name} would be split over old and new partitions"
  }
}

resource "kafka_topic" "t" {
  for_each           = { "grows.past" = 40, "grows.keyed" = 6, "grows" = 6 }
  name               = each.key
  partitions         = each.value
  replication_factor = 1
}
