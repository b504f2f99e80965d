locals {
  a = 1 # one
  bb = 22 # two
  ccc = 333 // three
  d = 4 /* four */
  e = 5
  f = 6 # six
}
