locals {
  a  = 1
  bb = 2

  ccc = 3
  # comment
  dddd = 4
  e    = {}
  f    = []
}
