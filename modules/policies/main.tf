# Policies for clusters that several teams share. They check the whole plan of a configuration that
# calls this module. Terraform does not support policy blocks.

locals {
  names = [
    "topic_name",
    "replication_factor",
    "min_insync_replicas",
    "partitions",
    "cluster_partitions",
    "broker_partitions",
    "retention",
    "compaction",
    "wildcard_principal",
    "ownership",
    "partitions_of_keys",
    "records",
  ]
  waivers = { for name in local.names : name => [for each in var.waivers : each if each.policy == name] }
}

policy "topic_name" {
  description = "Topic names begin with their domain."
  on          = ["create"]
  kind        = "kafka_topic"
  order       = 100
  waivers     = local.waivers["topic_name"]

  deny {
    condition = var.name_pattern != "" && !can(regex(var.name_pattern, requested.name))
    message   = "the name does not match ${var.name_pattern}"
    fix       = "Begin the name with its domain, such as shop.orders."
  }
}

policy "replication_factor" {
  description = "The loss of a broker does not lose records."
  on          = ["create", "alter"]
  kind        = "kafka_topic"
  order       = 100
  waivers     = local.waivers["replication_factor"]

  deny {
    condition = coalesce(requested.replication_factor, var.min_replication_factor) < var.min_replication_factor
    message   = "${coalesce(requested.replication_factor, 0)} replicas are fewer than ${var.min_replication_factor}"
    fix       = "Declare replication_factor = ${var.min_replication_factor}."
  }
}

policy "min_insync_replicas" {
  description = "The failure of one broker does not stop producers."
  on          = ["create", "alter"]
  kind        = "kafka_topic"
  when        = coalesce(requested.replication_factor, 1) > 1
  order       = 100
  waivers     = local.waivers["min_insync_replicas"]

  deny {
    condition = tonumber(lookup(requested.config, "min.insync.replicas", "1")) >= requested.replication_factor
    message   = "min.insync.replicas = ${lookup(requested.config, "min.insync.replicas", "1")} requires all ${requested.replication_factor} replicas"
    fix       = "Declare min.insync.replicas as the replication factor minus one."
  }
}

policy "partitions" {
  description = "A topic has a limited number of partitions."
  on          = ["create", "alter"]
  kind        = "kafka_topic"
  order       = 100
  waivers     = local.waivers["partitions"]

  deny {
    condition = coalesce(requested.partitions, 1) > var.max_partitions
    message   = "${coalesce(requested.partitions, 1)} partitions are more than ${var.max_partitions}"
    fix       = "Declare fewer, or request a waiver."
  }
}

policy "cluster_partitions" {
  description = "The cluster has a limited number of partitions."
  on          = ["create", "alter"]
  kind        = "kafka_topic"
  when        = coalesce(requested.partitions, 1) > try(current.partitions, 0)
  order       = 100
  waivers     = local.waivers["cluster_partitions"]

  deny {
    condition = cluster.so_far.partitions > var.max_cluster_partitions
    message   = "the cluster would have ${cluster.so_far.partitions} partitions; the maximum is ${var.max_cluster_partitions}"
    fix       = "Delete unused topics, or declare fewer partitions."
  }
}

policy "broker_partitions" {
  description = "A broker has a limited number of replicas."
  on          = ["create", "alter"]
  kind        = "kafka_topic"
  when        = coalesce(requested.partitions, 1) > try(current.partitions, 0) && cluster.size > 0
  order       = 100
  waivers     = local.waivers["broker_partitions"]

  deny {
    condition = ceil(cluster.so_far.replicas / cluster.size) > var.max_partitions_per_broker
    message   = "each of ${cluster.size} brokers would have ${ceil(cluster.so_far.replicas / cluster.size)} replicas; the maximum is ${var.max_partitions_per_broker}"
  }
}

policy "retention" {
  description = "A long retention requires a reason."
  on          = ["create", "alter"]
  kind        = "kafka_topic"
  level       = "soft"
  when        = lookup(requested.config, "cleanup.policy", "delete") != "compact"
  order       = 100
  waivers     = local.waivers["retention"]

  deny {
    condition = tonumber(lookup(requested.config, "retention.ms", "604800000")) > var.max_retention_ms
    message   = "retention.ms = ${lookup(requested.config, "retention.ms", "")} is longer than ${var.max_retention_ms}"
    fix       = "Use -override 'retention=REASON'."
  }

  deny {
    condition = tonumber(lookup(requested.config, "retention.ms", "604800000")) < 0
    message   = "the retention is unlimited"
    fix       = "Use -override 'retention=REASON'."
  }
}

policy "compaction" {
  description = "Writes to a compacted topic require at least two in-sync replicas."
  on          = ["create", "alter"]
  kind        = "kafka_topic"
  when        = strcontains(lookup(requested.config, "cleanup.policy", "delete"), "compact") && coalesce(requested.replication_factor, 1) > 1
  order       = 100
  waivers     = local.waivers["compaction"]

  deny {
    condition = tonumber(lookup(requested.config, "min.insync.replicas", "1")) < 2
    message   = "a compacted topic needs min.insync.replicas = 2"
    fix       = "Declare config = { \"min.insync.replicas\" = \"2\" }."
  }
}

policy "wildcard_principal" {
  description = "Permissions are granted to named principals."
  on          = ["create"]
  kind        = "kafka_acl"
  order       = 100
  waivers     = local.waivers["wildcard_principal"]

  deny {
    condition = endswith(requested.acl_principal, ":*") && requested.acl_permission_type == "Allow"
    message   = "${requested.acl_principal} matches every client"
    fix       = "Grant the permission to the principals that need it."
  }
}

policy "ownership" {
  description = "A team changes only its own topics and ACLs."
  on          = ["create", "alter", "delete"]
  kind        = ["kafka_topic", "kafka_acl"]
  when        = principal == null ? false : contains(keys(var.owners), principal)
  order       = 100
  waivers     = local.waivers["ownership"]

  deny {
    condition = change.kind == "kafka_topic" && !anytrue([for each in var.owners[principal] : startswith(change.identity, each)])
    message   = "${change.identity} does not begin with ${join(" or ", var.owners[principal])}, the prefixes of ${principal}"
  }

  deny {
    condition = change.kind == "kafka_acl" ? !anytrue([
      for each in var.owners[principal] : startswith(try(requested.resource_name, current.resource_name), each)
    ]) : false
    message = "${principal} may not change ACLs on ${try(requested.resource_name, current.resource_name)}"
  }
}

policy "partitions_of_keys" {
  description = "Adding partitions changes the partition of keys."
  on          = ["alter"]
  kind        = "kafka_topic"
  when        = requested.partitions > current.partitions
  order       = 100
  waivers     = local.waivers["partitions_of_keys"]

  deny {
    condition = strcontains(lookup(requested.config, "cleanup.policy", "delete"), "compact")
    message   = "keys of a compacted topic would map to other partitions"
    fix       = "Create a topic with more partitions, and migrate to it."
  }

  warn {
    condition = true
    message   = "${current.partitions} partitions become ${requested.partitions}: records of a key are no longer in order"
  }
}

policy "records" {
  description = "Records of compacted topics are not deleted."
  on          = ["delete_records"]
  kind        = "kafka_topic"
  order       = 100
  waivers     = local.waivers["records"]

  deny {
    condition = strcontains(lookup(try(current.config, {}), "cleanup.policy", "delete"), "compact")
    message   = "${change.identity} is compacted; the latest values of keys would be deleted"
  }
}
