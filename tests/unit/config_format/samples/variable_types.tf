variable "a" {
type=string
}
variable "b" {
  type = list
}
variable "c" {
  type = "list"
}
variable "d" {
  type = "map"
  default={}
}
variable "e" { type = map }
variable "f" {
  type=object({name=string,size=optional(number,1)})
}
variable "g" {
  type = set
}
variable "h" {
  type = "string"
  default = "${var.x}"
}
variable "i" {
  type="any"
}
variable "j" {
  type = "number"
}
variable "k" {
  type = /* why */ list // because
}
variable "l" {
  type = "map" /* old */
}
variable "m" {
  block { type = list }
}
other "n" { type = list }
type = list
