# Three clusters. This example reads them from files, so it does not require Kafka. With a provider
# block instead of `snapshot` kplan reads the live cluster:
#
#   provider "kafka" {
#     bootstrap_servers = ["kafka-1.eu.example:9093"]
#     properties_file   = "eu.properties"
#   }

cluster "prod-eu" {
  labels        = { environment = "prod", region = "eu" }
  configuration = "prod-eu"
  snapshot      = "snapshots/prod-eu.jsonl"
  audit         = ["logs/prod-eu-*.log"]
  super_users   = ["User:admin"]
}

cluster "prod-us" {
  labels   = { environment = "prod", region = "us" }
  snapshot = "snapshots/prod-us.jsonl"
}

cluster "lab" {
  labels         = { environment = "lab", region = "eu" }
  snapshot       = "snapshots/lab.jsonl"
  allow_everyone = true
}

store {
  path = "tables"
}
