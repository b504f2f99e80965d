a = 1
bb = f({
  c = 1
})
ddd = 2
eeee = "${f({
  g = 1
})}"
hh = 3
