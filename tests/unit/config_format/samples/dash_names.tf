my-name=1
a-b {
  c-d=2
}
e=a-b
f=a - b
g=a -b
h=1-b
