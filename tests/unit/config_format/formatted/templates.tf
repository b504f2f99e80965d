locals {
  a = x
  b = x
  c = "a${x}b"
  d = "a${x}b${y}"
  e = "${x}${y}"
  f = x
  g = "a ${~x~} b"
  h = "${x}"
  i = f("${x}")
  j = "a${"b${c}"}"
  k = "$${x}"
  l = "%%{x}"
  m = { a = 1 }
  n = "x${ { a = 1 } }"
  o = [1, 2][0]
  p = "x${f(a, b)}"
  q = ""
  r = ""
  s = "a\"b\n"
  t = "$"
  u = "100%"
}
