resource "kafka_topic" "orders" {
  name               = "shop.orders"
  partitions         = 40
  replication_factor = 3
}

resource "kafka_topic" "events" {
  name               = "shop.events"
  partitions         = 6
  replication_factor = 2
}

resource "kafka_topic" "legacy" {
  name               = "legacy"
  partitions         = 3
  replication_factor = 3
}

resource "kafka_acl" "everyone" {
  resource_name       = kafka_topic.orders.name
  resource_type       = "Topic"
  acl_principal       = "User:*"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}

policy "partitions" {
  on   = ["create", "alter"]
  kind = "kafka_topic"

  deny {
    condition = requested.partitions > 12
    message   = "${requested.partitions} partitions are more than 12"
    fix       = "Ask the platform team for a budget of your own."
  }
}

policy "names" {
  on   = ["create"]
  kind = "kafka_topic"
  waivers = [{
    owner      = "team-old"
    reason     = "renamed in spring"
    expires    = "2027-03-31"
    applies_to = ["legacy"]
  }]

  deny {
    condition = !can(regex("^[a-z]+[.]", requested.name))
    message   = "the name begins with the team that owns it, as in team.name"
  }
}

policy "copies" {
  on    = ["create"]
  kind  = "kafka_topic"
  level = "advisory"

  deny {
    condition = requested.replication_factor < 3
    message   = "a broker that is lost takes records with it"
  }
}

policy "wildcards" {
  on    = ["create"]
  kind  = "kafka_acl"
  level = "soft"

  deny {
    condition = requested.acl_principal == "User:*"
    message   = "everyone may ${lower(requested.acl_operation)}"
  }
}
