block {
}
x = var.y
y = 1
y = 2
