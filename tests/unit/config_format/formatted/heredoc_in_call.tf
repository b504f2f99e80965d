locals {
  a = f(<<EOT
x
EOT
  )
  b = f(<<-EOT
    x
  EOT
  , 1)
  c = [<<A
a
A
    , <<B
b
B
  ]
  d = {
    e = <<EOT
x
EOT
    f = 1
  }
}
