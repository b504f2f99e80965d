locals {
  café  = "é"  # één
  x     = "日本" # two
  名前    = 1    # three
  emoji = "👨‍👩‍👧"  # four
  e     = "é"  # five
}
