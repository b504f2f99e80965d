variable "want" {
  default = "payments"
}
variable "topics" {
  default = { orders = { partitions = 3 } }
}
variable "password" {
  default   = "hunter2"
  sensitive = true
}
locals {
  chosen = var.topics[var.want]
  upper  = uper("x")
  sum    = var.want + 1
  secret = "${var.password}" + 1
  given  = format("%d", var.want)
  mixed  = true ? [1] : "x"
  cond   = var.want ? 1 : 2
  null   = "a${null}"
}
output "leak" {
  value = "x${var.password}"
}
output "shown" {
  value = local.chosen
}
resource "kafka_topic" "secret_name" {
  name = var.password
}
