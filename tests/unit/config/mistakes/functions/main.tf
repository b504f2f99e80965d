locals {
  few    = upper()
  many   = upper("a", "b")
  type   = length(5)
  expand = max("x"...)
  null   = upper(null)
  lists  = concat([1], "x")
  none   = try()
  two    = can(1, 2)
  failed = try(local.nope_a.x, tonumber("x"))
  nope_a = {}
  file   = file("nowhere.txt")
  zero   = 1 / 0
}
