locals {
  a=f()
  b=f( )
  c=f (1,2)
  d=f( 1 , 2 , )
  e=f(g(h(1)))
  f=f(
1,
    2
)
  g=merge({
    a=1
  },{
    b=2
  })
  h=f(x...)
  i=f(x ...)
  j=provider::kafka::name(1)
}
