terraform {
  required_version = ">= 1.9"

  required_providers {
    kafka = {
      source = "Mongey/kafka"
    }
  }
}

locals {
  document = yamldecode(file(var.file))
  defaults = merge(
    { partitions = var.partitions, replication_factor = var.replication_factor },
    try(local.document.defaults, {}),
  )
  keys = ["config", "partitions", "replication_factor"]
}

resource "kafka_topic" "this" {
  for_each = local.document.topics

  name               = "${var.prefix}${each.key}"
  partitions         = try(each.value.partitions, local.defaults.partitions)
  replication_factor = try(each.value.replication_factor, local.defaults.replication_factor)

  # A list becomes text with commas, as cleanup.policy requires; null removes a default.
  config = {
    for key, value in merge(try(local.defaults.config, {}), try(each.value.config, {})) :
    key => try(join(",", value), tostring(value)) if value != null
  }

  lifecycle {
    precondition {
      condition     = length(setsubtract(try(keys(each.value), []), local.keys)) == 0
      error_message = "Topic ${each.key} in ${var.file} has keys other than ${join(", ", local.keys)}."
    }
  }
}
