variable "password" {
  sensitive = true
  default   = "hunter2%u%y%?"
}

locals {
  twice    = { for each in ["a", "b"] : var.password => each }
  pattern  = formatdate(var.password, "2018-01-02T23:12:01Z")
  template = format(var.password, 1)
  many     = formatlist(var.password, ["a"])
}
