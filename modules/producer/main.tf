terraform {
  required_version = ">= 1.9"

  required_providers {
    kafka = {
      source = "Mongey/kafka"
    }
  }
}

# Write implies Describe on the same topic. A producer with Write on any topic may also initialize
# the id of an idempotent producer (KIP-679).
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
