a = <<-END_OF-TEXT
  x
  END_OF-TEXT
b = <<é
x
é
c = <<EOT
 EOT
d = 1
