variable "size" {
  type    = number
  default = 1
  validation {
    condition     = var.size < 10
    error_message = "Too large."
  }
}

variable "name" {
  type = string
}

locals {
  twice = var.size * 2
}

output "twice" {
  value = local.twice
  precondition {
    condition     = var.size != 8
    error_message = "Eight."
  }
}

output "name" {
  value = upper(var.name)
}

check "five" {
  assert {
    condition     = var.size != 5
    error_message = "Five."
  }
}
