a = [
  /* one
     two */ 1,
  2 /* three
  four */,
]
b = 1 /* five
six */
c = 2
