run "name_is_given_here" {
  command = plan
  variables {
    name = "x"
  }
}

run "name_is_missing" {
  command = plan
}
