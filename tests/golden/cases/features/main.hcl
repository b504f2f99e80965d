resource "kafka_feature" "metadata" {
  name  = "metadata.version"
  level = 30
}

resource "kafka_feature" "transaction" {
  name      = "transaction.version"
  level     = 1
  downgrade = "safe"
}

resource "kafka_feature" "group" {
  name  = "group.version"
  level = 0
}

resource "kafka_feature" "unknown" {
  name  = "no.such.feature"
  level = 1
}
