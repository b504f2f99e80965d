locals {
  spaced = << EOT
text
EOT
}

locals {
  quoted = <<-"EOT"
    text
    EOT
}

locals {
  shifted = 1 << 2
}
