resource "kafka_quota" "alice" {
  entity_name = "alice"
  entity_type = "user"

  config = {
    "producer_byte_rate" = 4000000
    "request_percentage" = 12.50
  }
}

resource "kafka_quota" "everyone" {
  entity_type = "user"
  client_id   = "<default>"
  config      = { "consumer_byte_rate" = 2.5e6 }
}

resource "kafka_quota" "app" {
  entity_name = "app"
  entity_type = "client-id"
  config      = { "consumer_byte_rate" = "1000000" }
}

resource "kafka_quota" "address" {
  entity_name = "10.0.0.7"
  entity_type = "ip"
  config      = { "connection_creation_rate" = 20 }
}

resource "kafka_quota" "moved" {
  entity_name = "bob"
  entity_type = "user"
  config      = { "producer_byte_rate" = 1 }
}
