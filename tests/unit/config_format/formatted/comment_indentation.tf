resource "a" "b" {
  # one
  # two
  c {
    # three
  }
  # four
}
# five
