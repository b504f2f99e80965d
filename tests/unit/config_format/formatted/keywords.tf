a   = null
b   = true
c   = false
d   = [null, true, false]
e   = null == x
for = 1
if  = 2
f   = { if = 2, in = 3 }
g   = { x = 1, for = 2 }
