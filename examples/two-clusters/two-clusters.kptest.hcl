# Run with: kplan test

run "every_region_has_its_orders" {
  assert {
    condition     = plan.add == 5
    error_message = "Each of two regions must have a topic and an ACL, and one of them the settlements."
  }

  assert {
    condition = alltrue([
      for region in keys(var.regions) :
      can(cluster.kafka_topic["kafka.by_region[\"${region}\"]/shop.orders"])
    ])
    error_message = "Each region must have its orders on its own cluster."
  }

  assert {
    condition     = can(cluster.kafka_topic["kafka.by_region[\"eu\"]/shop.settlements"])
    error_message = "The settlements must be in the home region."
  }
}

run "the_home_is_a_region" {
  command = plan

  variables {
    home = "mars"
  }

  expect_failures = [var.home]
}
