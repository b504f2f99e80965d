resource "kafka_topic" "comma" {
  name               = "comma"
  replica_assignment = [[1 2]]
}

variable "x" {
  default = "${foo(}"
}

}

output "unclosed" {
  value = 1
