locals {
  teams  = yamldecode(file("${path.module}/teams.yaml"))
  topics = merge([for t in local.teams : { for name, cfg in t.topics : "${t.name}.${name}" => merge(cfg, { owner = t.name }) }]...)
}
resource "kafka_topic" "this" {
  for_each           = local.topics
  name               = each.key
  partitions         = lookup(each.value, "partitions", 6)
  replication_factor = 3
  config             = { for k, v in lookup(each.value, "config", {}) : k => tostring(v) if v != null }
}
