locals {
  a=var . x
  b=a.b . c
  c=a [0]
  d=a[ 0 ]
  e=a["x"]
  f=a[ "x" ].b
  g=a.*.b
  h=a[*].b
  i=a[ * ].b
  j=a.0.b
  k=a[0][1]
  l=a.b[c.d[0]]
  m=f(x)[0]
  n=[1,2][0]
  o={a=1}["a"]
  p=(a)[0]
  q="x"[0]
}
