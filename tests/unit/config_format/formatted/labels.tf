resource "aws_x" "y" {}
resource "aws_x" "y" {}
resource "a" "b" {
}
data "a" "b" {
}
x "with space" "and-dash" {
}
