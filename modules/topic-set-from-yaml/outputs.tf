output "names" {
  description = "Names of the topics as Kafka has them, by their names in the file."
  value       = { for name, topic in kafka_topic.this : name => topic.name }
}
