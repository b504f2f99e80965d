variable "a" {
  type = object({ name = strng })
}
variable "b" {
  type    = optional(string)
  default = "x"
}
variable "c" {
  type    = list(string, number)
  default = []
}
variable "d" {
  type    = tuple(string)
  default = []
}
variable "e" {
  type    = object
  default = {}
}
variable "f" {
  type    = object([string])
  default = {}
}
variable "g" {
  type    = object({ (var.x) = string })
  default = {}
}
variable "h" {
  type    = object({ a = optional() })
  default = {}
}
variable "i" {
  type    = object({ a = optional(number, "many") })
  default = {}
}
variable "j" {
  type      = string
  sensitive = "maybe"
  default   = ""
}
variable "k" {
  type    = map(object({ sizes = list(number) }))
  default = { x = { sizes = [1, "two"] } }
}
variable "l" {
  type     = string
  default  = null
  nullable = false
}
variable "fine" {
  type    = list
  default = ["a"]
}
variable "legacy" {
  type    = "string"
  default = "a"
}
variable "pair" {
  type    = tuple([string, number])
  default = ["a", "1"]
}
output "fine" {
  value = [var.fine, var.legacy, var.pair]
}
