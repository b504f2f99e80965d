variable "password" {
  default   = "hunter-var"
  sensitive = true
}

resource "kafka_user_scram_credential" "new" {
  username        = "alice"
  scram_mechanism = "SCRAM-SHA-256"
  password        = "hunter2"
}

resource "kafka_user_scram_credential" "rotated" {
  username            = "bob"
  scram_mechanism     = "SCRAM-SHA-512"
  scram_iterations    = 8192
  password_wo         = var.password
  password_wo_version = "2"
}

resource "kafka_user_scram_credential" "same" {
  username            = "carol"
  scram_mechanism     = "SCRAM-SHA-512"
  scram_iterations    = 8192
  password_wo         = "hunter-carol"
  password_wo_version = "7"
}

resource "kafka_user_scram_credential" "adopted" {
  username        = "dave"
  scram_mechanism = "scram-sha-256"
  password        = "hunter-dave"
}

resource "kafka_user_scram_credential" "unversioned" {
  username        = "erin"
  scram_mechanism = "SCRAM-SHA-256"
  password_wo     = "hunter-erin"
}
