resource "kafka_topic" "all" {
  name = "all"
  lifecycle {
    ignore_changes = all
  }
}
resource "kafka_topic" "words" {
  name = "words"
  lifecycle {
    ignore_changes = [config.retention, "partitions"]
  }
}
resource "kafka_topic" "text" {
  name = "text"
  lifecycle {
    ignore_changes = "partitions"
  }
}
resource "kafka_topic" "expression" {
  name = "expression"
  lifecycle {
    ignore_changes = [1 + 1]
  }
}
resource "kafka_topic" "each" {
  for_each = { a = true, b = "no" }
  name     = each.key
  lifecycle {
    prevent_destroy = each.value
  }
}
resource "kafka_topic" "conditions" {
  name = "conditions"
  lifecycle {
    precondition {
      condition = "maybe"
      message   = "x"
    }
    postcondition {
      condition     = 5
      error_message = "x"
    }
  }
}
