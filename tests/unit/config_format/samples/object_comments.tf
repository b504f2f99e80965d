a = {
  b = 1 # one
  cc = 2 # two
  # three

  d = { e = 1 } # four
  ff = [ # five
    1, # six
    22 # seven
  ] # eight
}
