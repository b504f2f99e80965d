locals {
  a = 1
  long_name = {
    b = 2
  }
  c = 3
  dd = 4
  eee = [
    1,
  ]
  f = 5
}
