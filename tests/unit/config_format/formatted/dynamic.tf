resource "kafka_topic" "x" {
  for_each = var.topics
  name     = each.key
  dynamic "config" {
    for_each = each.value.config
    content {
      key   = config.key
      value = config.value
    }
  }
  lifecycle { prevent_destroy = true }
}
