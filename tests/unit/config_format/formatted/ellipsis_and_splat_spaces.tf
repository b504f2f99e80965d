a = concat(var.x[*]...)
b = var.x[*].y
c = f([1]...)
