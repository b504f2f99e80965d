output "prefix" {
  description = "What every topic, group and transactional id of the team begins with."
  value       = local.prefix
}

output "topics" {
  description = "Full names of the topics, by their names without the prefix."
  value       = { for name, topic in kafka_topic.this : name => topic.name }
}
