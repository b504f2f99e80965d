# KIP-201, problem 1: one rule for configs of created and altered topics, which can also check the
# layout. Kafka's AlterConfigPolicy would see only cleanup.policy here.
policy "compacted" {
  on   = ["create", "alter"]
  kind = "kafka_topic"
  when = lookup(requested.config, "cleanup.policy", "delete") == "compact"

  deny {
    condition = requested.replication_factor < 3 || lookup(requested.config, "min.insync.replicas", "1") != "2"
    message   = "a compacted topic requires 3 replicas, 2 of them in sync"
    fix       = "Declare replication_factor = 3 and \"min.insync.replicas\" = \"2\"."
  }
}

resource "kafka_topic" "new" {
  name               = "new"
  partitions         = 3
  replication_factor = 2
  config             = { "cleanup.policy" = "compact", "min.insync.replicas" = "2" }
}

resource "kafka_topic" "old" {
  name               = "old"
  partitions         = 3
  replication_factor = 3
  config             = { "cleanup.policy" = "compact" }
}

resource "kafka_topic" "good" {
  name               = "good"
  partitions         = 3
  replication_factor = 3
  config             = { "cleanup.policy" = "compact", "min.insync.replicas" = "2" }
}
