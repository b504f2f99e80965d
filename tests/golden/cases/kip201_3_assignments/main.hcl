# KIP-201, problem 3: a policy of Kafka checks replica assignments when a topic is created, but not
# when it is altered. This rule checks both, but only declared assignments.
policy "spread" {
  on   = ["create", "alter"]
  kind = "kafka_topic"
  when = !requested.generated_replica_assignments

  deny {
    condition = length(distinct(flatten(requested.assignments))) < cluster.size
    message   = "a declared assignment must use all ${cluster.size} brokers, not only ${join(", ", distinct(flatten(requested.assignments)))}"
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
