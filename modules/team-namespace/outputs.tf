output "prefix" {
  description = "Prefix of all topics, groups and transactional ids of the team."
  value       = local.prefix
}

output "topics" {
  description = "Full names of the topics, by their name without the prefix."
  value       = { for name, topic in kafka_topic.this : name => topic.name }
}
