variable "needed" {
  type = string
}
variable "bad_default" {
  type    = number
  default = "twelve"
}
variable "partitions" {
  type    = number
  default = 5000
  validation {
    condition     = var.partitions <= 100
    error_message = "At most 100 partitions."
  }
  validation {
    condition     = var.partitions % 7 == 0
    error_message = "Must be divisible by 7, unlike ${var.partitions}."
  }
}
variable "topics" {
  type = map(object({ partitions = number }))
}
variable "nullable" {
  type     = string
  nullable = false
}
variable "secret" {
  type      = number
  sensitive = true
  default   = "hunter2"
}
variable "kind" {
  type = strng
}
variable "refers" {
  default = local.x
}
variable "count" {
}
variable "9x" {
}
variable "needed" {
}
resource "kafka_topic" "silent" {
  name       = var.needed
  partitions = var.partitions
}
