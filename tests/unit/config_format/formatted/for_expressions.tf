locals {
  a = [for x in y : x]
  b = [for x in y : x if x != 1]
  c = { for k, v in m : k => v }
  d = { for k, v in m : k => v... if v }
  e = [for x in [1, 2] : x]
  f = [for x in { a = 1 } : x]
  g = [
    for x in y :
    x
    if x > 1
  ]
  h = {
    for k, v in m :
    k => {
      a = v
    }
  }
  i = [for i, x in y : "${i}-${x}"]
  j = [for x in(y) : x]
}
