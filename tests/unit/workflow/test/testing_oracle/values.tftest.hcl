variables {
  name = "file"
}

run "defaults" {
  command = plan
  assert {
    condition     = var.size == 1 && output.twice == 2 && local.twice == 2
    error_message = "Not twice."
  }
}

run "the_run_wins" {
  variables {
    name = "${var.name}-run"
    size = 2
  }
  assert {
    condition     = output.name == "FILE-RUN"
    error_message = output.name
  }
}

run "an_earlier_run_is_in_sight" {
  command = plan
  variables {
    size = run.the_run_wins.twice + 1
    name = lower(run.the_run_wins.name)
  }
  assert {
    condition     = output.twice == 10
    error_message = "Five, twice."
  }
  expect_failures = [check.five]
}

run "wrong_assertion" {
  assert {
    condition     = output.twice == 3
    error_message = "It is ${output.twice}."
  }
  assert {
    condition     = run.the_run_wins.twice == 4
    error_message = "Holds."
  }
}

run "after_a_failure" {
  command = plan
  assert {
    condition     = path.module == "." && terraform.workspace == "default"
    error_message = "Elsewhere."
  }
}
