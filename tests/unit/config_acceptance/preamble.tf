variable "nothing_string" {
  type    = string
  default = null
}
variable "nothing_list" {
  type    = list(number)
  default = null
}
variable "nothing_object" {
  type    = object({ a = string })
  default = null
}
variable "nothing_any" {
  default = null
}
variable "password" {
  type      = string
  default   = "hunter2"
  sensitive = true
}
variable "clusters" {
  type = map(object({
    brokers    = list(string)
    tier       = optional(string, "bronze")
    retention  = optional(number)
    labels     = optional(map(string), {})
    limits     = optional(object({ max = optional(number, 10), min = optional(number, 1) }), {})
  }))
  default = {
    eu = { brokers = ["k1:9092", "k2:9092"], retention = 86400000 }
    us = { brokers = ["u1:9092"], tier = "gold", labels = { a = 1, b = true }, limits = { max = "99" } }
  }
}
variable "ports" {
  type    = set(number)
  default = [9094, 9092, 9093, 9092]
}
variable "pair" {
  type    = tuple([string, number, bool])
  default = [1, "2", "true"]
}
variable "anylist" {
  type    = list(any)
  default = ["a", 1, true]
}
variable "anymap" {
  type    = map(any)
  default = { a = "1", b = 2 }
}
variable "empty_set" {
  type    = set(string)
  default = []
}
variable "empty_map" {
  type    = map(number)
  default = {}
}
variable "secret_map" {
  type      = map(string)
  default   = { user = "u", pass = "p" }
  sensitive = true
}
locals {
  topics = {
    orders   = { partitions = 6, config = { "cleanup.policy" = "compact" } }
    payments = { partitions = 12, config = {} }
    audit    = { partitions = 1, config = { "retention.ms" = "-1" }, extra = true }
  }
  words   = ["banana", "apple", "Cherry", "äpfel", "apple"]
  nested  = [[1, [2, 3]], [], [[4], [[5]]]]
  users   = [{ name = "ann", roles = ["r", "w"] }, { name = "bob", roles = [] }, { name = "cid", roles = ["r"] }]
  big     = 123456789012345678901234567890
  small   = 0.000000000000000000001
  text    = "line one\nline two\n\tline three\n"
  mixed   = { z = 1, a = "x", m = [1, 2], "key with space" = null, "ünï" = true }
  matrix  = [[1, 2, 3], [4, 5, 6]]
}
