resource "kafka_broker_config" "every" {
  config = {
    "background.threads" = 11
    "log.retention.ms"   = 3600000
  }
}

resource "kafka_broker_config" "first" {
  broker_id        = 1
  config           = { "log.cleaner.threads" = "2" }
  sensitive_config = { "ssl.keystore.password" = "hunter2" }
}

resource "kafka_broker_config" "second" {
  broker_id = 2
  config    = { "node.id" = "7" }
}

resource "kafka_broker_config" "third" {
  broker_id = 3
  config    = { "log.cleaner.thread" = "two" }
}

resource "kafka_broker_config" "away" {
  broker_id = 9
  config    = { "log.cleaner.threads" = "2" }
}

resource "kafka_group_config" "orders" {
  group_id = "orders"
  config   = { "consumer.session.timeout.ms" = 50000 }
}

resource "kafka_client_metrics" "consumers" {
  name   = "consumers"
  config = { "interval.ms" = 60000, "metrics" = "org.apache.kafka.consumer." }
}
