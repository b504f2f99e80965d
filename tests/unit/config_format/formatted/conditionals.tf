locals {
  a = x ? 1 : 2
  b = x ? y ? 1 : 2 : 3
  c = (
    x
    ? 1
    : 2
  )
  d = x == "a" ? [1, 2] : { a = 1 }
}
