# Run with: kplan test

run "names_begin_with_the_environment" {
  command = plan

  variables {
    environment = "test"
  }

  assert {
    condition     = alltrue([for each in kafka_topic.events : startswith(each.name, "test.")])
    error_message = "Environments that share a cluster must not share topics."
  }
}

run "an_environment_must_be_known" {
  command = plan

  variables {
    environment = "staging"
  }

  expect_failures = [var.environment]
}

run "everything_can_be_created" {
  variables {
    replication_factor = 3
  }

  assert {
    condition     = plan.destroy == 0
    error_message = "The first apply must not destroy objects, but would destroy ${plan.destroy}."
  }

  assert {
    condition     = cluster.kafka_topic["dev.shop.customers"].config["cleanup.policy"] == "compact"
    error_message = "The topic must keep the latest record of each customer."
  }
}
