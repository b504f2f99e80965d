# Policies for clusters that several teams share. They hold for the whole plan of whoever calls this
# module; kplan alone reads them.

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
  description = "Names of topics tell where they belong."
  on          = ["create"]
  kind        = "kafka_topic"
  order       = 100
  waivers     = local.waivers["topic_name"]

  deny {
    condition = var.name_pattern != "" && !can(regex(var.name_pattern, requested.name))
    message   = "the name does not fit ${var.name_pattern}"
    fix       = "Begin the name with the domain it belongs to, as in shop.orders."
  }
}

policy "replication_factor" {
  description = "A broker that is lost takes no records with it."
  on          = ["create", "alter"]
  kind        = "kafka_topic"
  order       = 100
  waivers     = local.waivers["replication_factor"]

  deny {
    condition = coalesce(requested.replication_factor, var.min_replication_factor) < var.min_replication_factor
    message   = "${coalesce(requested.replication_factor, 0)} copies are fewer than ${var.min_replication_factor}"
    fix       = "Declare replication_factor = ${var.min_replication_factor}."
  }
}

policy "min_insync_replicas" {
  description = "One broker that is down does not stop writers."
  on          = ["create", "alter"]
  kind        = "kafka_topic"
  when        = coalesce(requested.replication_factor, 1) > 1
  order       = 100
  waivers     = local.waivers["min_insync_replicas"]

  deny {
    condition = tonumber(lookup(requested.config, "min.insync.replicas", "1")) >= requested.replication_factor
    message   = "min.insync.replicas = ${lookup(requested.config, "min.insync.replicas", "1")} needs every one of ${requested.replication_factor} copies"
    fix       = "Declare min.insync.replicas one below the replication factor."
  }
}

policy "partitions" {
  description = "No topic takes more partitions than it can need."
  on          = ["create", "alter"]
  kind        = "kafka_topic"
  order       = 100
  waivers     = local.waivers["partitions"]

  deny {
    condition = coalesce(requested.partitions, 1) > var.max_partitions
    message   = "${coalesce(requested.partitions, 1)} partitions are more than ${var.max_partitions}"
    fix       = "Declare fewer, or let a waiver say why so many are needed."
  }
}

policy "cluster_partitions" {
  description = "The cluster holds no more partitions than it was built for."
  on          = ["create", "alter"]
  kind        = "kafka_topic"
  when        = coalesce(requested.partitions, 1) > try(current.partitions, 0)
  order       = 100
  waivers     = local.waivers["cluster_partitions"]

  deny {
    condition = cluster.so_far.partitions > var.max_cluster_partitions
    message   = "the cluster would have ${cluster.so_far.partitions} partitions, and ${var.max_cluster_partitions} is the most"
    fix       = "Delete what nobody uses, or declare fewer partitions."
  }
}

policy "broker_partitions" {
  description = "No broker holds more replicas than it can recover in time."
  on          = ["create", "alter"]
  kind        = "kafka_topic"
  when        = coalesce(requested.partitions, 1) > try(current.partitions, 0) && cluster.size > 0
  order       = 100
  waivers     = local.waivers["broker_partitions"]

  deny {
    condition = ceil(cluster.so_far.replicas / cluster.size) > var.max_partitions_per_broker
    message   = "each of ${cluster.size} brokers would hold ${ceil(cluster.so_far.replicas / cluster.size)} replicas, and ${var.max_partitions_per_broker} is the most"
  }
}

policy "retention" {
  description = "Records that are kept for long are kept for a reason."
  on          = ["create", "alter"]
  kind        = "kafka_topic"
  level       = "soft"
  when        = lookup(requested.config, "cleanup.policy", "delete") != "compact"
  order       = 100
  waivers     = local.waivers["retention"]

  deny {
    condition = tonumber(lookup(requested.config, "retention.ms", "604800000")) > var.max_retention_ms
    message   = "retention.ms = ${lookup(requested.config, "retention.ms", "")} is longer than ${var.max_retention_ms}"
    fix       = "Say why: -override 'retention=REASON'"
  }

  deny {
    condition = tonumber(lookup(requested.config, "retention.ms", "604800000")) < 0
    message   = "records are kept for ever"
    fix       = "Say why: -override 'retention=REASON'"
  }
}

policy "compaction" {
  description = "What is compacted is the only copy of a key, so it is written to two brokers at least."
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
  description = "Rights are given to somebody."
  on          = ["create"]
  kind        = "kafka_acl"
  order       = 100
  waivers     = local.waivers["wildcard_principal"]

  deny {
    condition = endswith(requested.acl_principal, ":*") && requested.acl_permission_type == "Allow"
    message   = "${requested.acl_principal} is everybody who can connect"
    fix       = "Name the principals that need it."
  }
}

policy "ownership" {
  description = "Teams change what is theirs."
  on          = ["create", "alter", "delete"]
  kind        = ["kafka_topic", "kafka_acl"]
  when        = principal == null ? false : contains(keys(var.owners), principal)
  order       = 100
  waivers     = local.waivers["ownership"]

  deny {
    condition = change.kind == "kafka_topic" && !anytrue([for each in var.owners[principal] : startswith(change.identity, each)])
    message   = "${change.identity} does not begin with ${join(" or ", var.owners[principal])}, which is what ${principal} owns"
  }

  deny {
    condition = change.kind == "kafka_acl" ? !anytrue([
      for each in var.owners[principal] : startswith(try(requested.resource_name, current.resource_name), each)
    ]) : false
    message = "a right on ${try(requested.resource_name, current.resource_name)} is not for ${principal} to give or take"
  }
}

policy "partitions_of_keys" {
  description = "More partitions send keys elsewhere than before."
  on          = ["alter"]
  kind        = "kafka_topic"
  when        = requested.partitions > current.partitions
  order       = 100
  waivers     = local.waivers["partitions_of_keys"]

  deny {
    condition = strcontains(lookup(requested.config, "cleanup.policy", "delete"), "compact")
    message   = "keys of a compacted topic would be split over old and new partitions"
    fix       = "Make a topic with more partitions, and move to it."
  }

  warn {
    condition = true
    message   = "${current.partitions} partitions become ${requested.partitions}: records of one key are in order no more"
  }
}

policy "records" {
  description = "Records of compacted topics are the state of somebody."
  on          = ["delete_records"]
  kind        = "kafka_topic"
  order       = 100
  waivers     = local.waivers["records"]

  deny {
    condition = strcontains(lookup(try(current.config, {}), "cleanup.policy", "delete"), "compact")
    message   = "${change.identity} is compacted: what is deleted is the last value of a key"
  }
}
