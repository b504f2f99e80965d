output "names" {
  description = "Full names of the topics, by their name in the file."
  value       = { for name, topic in kafka_topic.this : name => topic.name }
}
