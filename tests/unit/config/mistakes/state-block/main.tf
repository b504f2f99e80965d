variable "secret" {
  default   = "s3cr3t"
  sensitive = true
}

state {
  backend            = "kafka"
  topic              = "state.of.kplan"
  key                = "eu/shop"
  replication_factor = 1.5
  path               = "kplan.json"
}

state {
  backend = "kafka"
}
