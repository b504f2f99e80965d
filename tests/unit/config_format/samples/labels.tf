resource aws_x y {}
resource "aws_x" y {}
resource   "a"    "b"   {
}
data a /* why */ b {
}
x "with space" "and-dash" {
}
