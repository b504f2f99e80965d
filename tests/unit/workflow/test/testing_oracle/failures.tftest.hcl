variables {
  name = "file"
}

run "a_bad_variable" {
  command = plan
  variables {
    size = 11
  }
  expect_failures = [var.size]
}

run "a_bad_output" {
  command = plan
  variables {
    size = 8
  }
  expect_failures = [output.twice]
}

run "a_failed_check" {
  variables {
    size = 5
  }
  expect_failures = [check.five]
}

run "not_what_was_expected" {
  command = plan
  variables {
    size = 12
  }
  expect_failures = [output.twice]
}

run "skipped" {
  command = plan
}
