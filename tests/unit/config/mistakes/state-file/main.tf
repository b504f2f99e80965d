state {
  backend = "file"
  topic   = "__kplan_state"
}
