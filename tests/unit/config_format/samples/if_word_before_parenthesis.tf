a=[for x in y:x if(x>1)]
b=[for x in f(y):x]
c=[for x in y:x if !(x)]
in=1
d=in[0]
e=[for x in in:x]
