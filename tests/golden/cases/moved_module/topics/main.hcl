variable "name" {}
resource "kafka_topic" "t" {
  for_each           = toset(["orders"])
  name               = "${var.name}.${each.key}"
  partitions         = 3
  replication_factor = 2
}
