name       = "orders"
partitions = 12
config = {
  retention        = "1"
  "cleanup.policy" = "delete"
}
users = ["a",
"b"]
enabled = true
nothing = null
