locals {
  a={}
  b={a=1}
  c={a=1,b=2}
  d={ a : 1 , b:2 }
  e={
a=1
    bb=2
  "c d"=3
    (var.x)=4
    "${var.y}"=5
}
  f={
    a=1,
    bb=2,
  }
  g={a={b={c=1}}}
  h = {
    a: 1
    bb: 2
  }
}
