variable "a" {
  type = string
}
variable "b" {
  type = list(any)
}
variable "c" {
  type = list(string)
}
variable "d" {
  type    = map(string)
  default = {}
}
variable "e" { type = map(any) }
variable "f" {
  type = object({ name = string, size = optional(number, 1) })
}
variable "g" {
  type = set(any)
}
variable "h" {
  type    = string
  default = var.x
}
variable "i" {
  type = "any"
}
variable "j" {
  type = "number"
}
variable "k" {
  type = /* why */ list(any) // because
}
variable "l" {
  type = map(string) /* old */
}
variable "m" {
  block { type = list }
}
other "n" { type = list }
type = list
