terraform {
  required_version = ">= 1.9"

  required_providers {
    kafka = {
      source = "Mongey/kafka"
    }
  }
}

# Write implies Describe on the same topic, and a producer that may write to any topic may also ask
# for the id that makes it idempotent (KIP-679): nothing else is needed.
resource "kafka_acl" "write" {
  for_each = var.topics

  resource_type       = "Topic"
  resource_name       = each.value
  acl_principal       = var.principal
  acl_host            = var.host
  acl_operation       = "Write"
  acl_permission_type = "Allow"
}

resource "kafka_acl" "write_prefixed" {
  for_each = var.topic_prefixes

  resource_type                = "Topic"
  resource_name                = each.value
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = var.principal
  acl_host                     = var.host
  acl_operation                = "Write"
  acl_permission_type          = "Allow"
}
