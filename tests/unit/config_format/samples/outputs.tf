output "a" {value=1}
output "b" {
  value=kafka_topic.x[*].name
  sensitive=true
}
output "c" {
  value={for k,t in kafka_topic.x:k=>t.name}
}
