locals {
  a = [1, "a"]...
  b = "text"("x")
  c = { "a"."b" = 1 }
  d = { a.b = 1 }
}
locals {
  b = "text"("x")
}
locals {
  c = [for "x" in [1] : x]
}
locals {
  d = { a.b = 1 }
}
locals {
  e = local.x."y"
}
locals {
  f = [for x.y in [1] : x]
}
locals {
  g = { for = 1 }
}
locals {
  h = a.*.b.*.c
}
locals {
  i = "${a" b}"
}
locals {
  j = [1)
}
locals {
  k = "a
}
locals {
  l = "%{ if true }a"
}
locals {
  m = var.x y
}
locals {
  n = 1 ? 2
}
locals {
  o = f(1,
}
resource kafka_topic unquoted {
  name = "bare labels are fine"
}
resource "kafka_topic" ${x} {
}
variable 'single' {
}
locals { p = 1 q = 2 }
locals {
  r = 5 $ 6
}
