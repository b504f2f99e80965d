variables {
  name = "file"
}

run "a_check_fails" {
  command = plan
  variables {
    size = 5
  }
}

run "skipped" {
  command = plan
}
