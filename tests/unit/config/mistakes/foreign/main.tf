resource "aws_s3_bucket" "a" {
  bucket = "a"
}
resource "kafka_tpic" "b" {
  name = "b"
}
resource "random_id" "c" {}
resorce "kafka_topic" "d" {
  name = "d"
}
pipeline "x" {}
provider "aws" {
  region = "eu"
}
output "bucket" {
  value = aws_s3_bucket.a.id
}
name = "stray"
