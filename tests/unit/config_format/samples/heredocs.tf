locals {
  a=<<EOT
text
  ${ x }
EOT
  b=<<-EOT
      indented
        ${x}
    %{ for x in y ~}
    ${ x }
    %{ endfor ~}
      EOT
  c = 1
  dd = <<X
X
  e = 2
}
