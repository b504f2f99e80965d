run "everything_is_made_once" {
  command = apply

  assert {
    condition     = plan.add == 7
    error_message = "The plan must create two users, two quotas and three sets of configs; the feature exists."
  }
}

run "and_then_there_is_nothing_to_do" {
  command = plan

  assert {
    condition     = plan.add == 0 && plan.change == 0 && plan.destroy == 0
    error_message = "A second plan must have no changes."
  }
}
