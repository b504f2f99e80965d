resource "kafka_topic" "heredoc" {
  name = <<EOT
orders
}
