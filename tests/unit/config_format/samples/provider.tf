provider "kafka" {
  bootstrap_servers=["localhost:9092","localhost:9093"]
  tls_enabled=true
  sasl_username=var.user   # who
  sasl_password   =   var.password # never shown
}
