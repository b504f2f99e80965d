locals {
  b    = [for x in [1] : local.c]
  self = local.self
}
