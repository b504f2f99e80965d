# KIP-201, problem 4: no policy of Kafka checks the delete of a topic or of its records. The tests in
# examples/policies/tests delete records.
policy "keep" {
  on   = ["delete", "delete_records"]
  kind = "kafka_topic"

  deny {
    condition = !startswith(current.name, "scratch.") && ci == null
    message   = "${current.name} (${current.partitions} partitions) can be deleted only by reviewed pipelines"
    fix       = "Open a merge request."
  }
}

resource "kafka_topic" "stays" {
  name               = "stays"
  partitions         = 1
  replication_factor = 1
}
