locals {
  a  = 1
  bb = 2 # c

  c = [
    1,
  ]
}
