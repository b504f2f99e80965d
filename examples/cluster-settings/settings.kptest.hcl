run "everything_is_made_once" {
  command = apply

  assert {
    condition     = plan.add == 7
    error_message = "Two users, two quotas and three sets of configs are made; the feature is there."
  }
}

run "and_then_there_is_nothing_to_do" {
  command = plan

  assert {
    condition     = plan.add == 0 && plan.change == 0 && plan.destroy == 0
    error_message = "A second plan finds no changes."
  }
}
