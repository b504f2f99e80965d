# KIP-201, problem 3: where replicas lie is governed when a topic is created, and not when it is
# altered. Here one rule holds for both, and tells what was written from what was generated.
policy "spread" {
  on   = ["create", "alter"]
  kind = "kafka_topic"
  when = !requested.generated_replica_assignments

  deny {
    condition = length(distinct(flatten(requested.assignments))) < cluster.size
    message   = "written assignments use every one of ${cluster.size} brokers, not just ${join(", ", distinct(flatten(requested.assignments)))}"
  }

  deny {
    condition = length([for replicas in requested.assignments : replicas[0] if replicas[0] == 1]) > length(requested.assignments) / 2
    message   = "broker 1 would lead ${length([for replicas in requested.assignments : replicas[0] if replicas[0] == 1])} of ${length(requested.assignments)} partitions"
  }
}

resource "kafka_topic" "new" {
  name               = "new"
  replica_assignment = [[1, 2], [2, 1]]
}

resource "kafka_topic" "grows" {
  name               = "grows"
  replica_assignment = [[1, 2], [2, 3], [1, 3], [1, 2]]
}

resource "kafka_topic" "generated" {
  name               = "generated"
  partitions         = 1
  replication_factor = 2
}
