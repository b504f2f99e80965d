resource "kafka_topic" "placed" {
  name               = "placed"
  replica_assignment = [[1, 2], [2, 3], [3, 1]]
}
