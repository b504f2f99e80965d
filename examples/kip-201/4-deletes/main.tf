# KIP-201, problem 4: no policy of Kafka sees that a topic or its records are deleted. (That of
# records is asked about in examples/policies/tests.)
policy "keep" {
  on   = ["delete", "delete_records"]
  kind = "kafka_topic"

  deny {
    condition = !startswith(current.name, "scratch.") && ci == null
    message   = "${current.name} (${current.partitions} partitions) is deleted by reviewed pipelines only"
    fix       = "Open a merge request."
  }
}

resource "kafka_topic" "stays" {
  name               = "stays"
  partitions         = 1
  replication_factor = 1
}
