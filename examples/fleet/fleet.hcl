# Three clusters. Here each is read from a file, so that the example needs no Kafka; with a provider
# block instead of `snapshot` it is read live:
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
