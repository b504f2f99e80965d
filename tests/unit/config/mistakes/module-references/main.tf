module "one" {
  source = "./m"
}
module "counted" {
  source = "./m"
  count  = 1
}
module "keyed" {
  source   = "./m"
  for_each = toset(["a"])
}
module "number" {
  source = 5
}
module "nosource" {
}
module "each" {
  source   = "./m"
  for_each = ["list"]
}
locals {
  no_place  = module.counted.x
  no_key    = module.keyed.x
  beyond    = module.counted[7].x
  wrong_key = module.keyed["b"].x
  place     = module.one[0]
  typo      = module.one.y
  alone     = module
}
output "fine" {
  value = {
    one     = module.one
    by_name = module.one["x"]
    counted = module.counted
    keyed   = module.keyed
  }
}
