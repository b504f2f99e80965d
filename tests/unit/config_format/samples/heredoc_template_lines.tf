output "x" {
  value = <<-EOT
    a: ${jsonencode({
      b=1
    })}
    c: ${
      d
    }
    EOT
}
