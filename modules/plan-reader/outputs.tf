output "plan_arguments" {
  description = "Arguments of kplan plan for this principal: it takes no lock, and brokers validate changes only of who may make them."
  value       = "-lock=false -broker-validate=false"
}
