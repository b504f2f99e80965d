run "creates" {
  command=plan
  variables {
    x=1
  }
  assert {
    condition=kafka_topic.x.partitions==6
    error_message="no"
  }
}
mock_provider "kafka" {}
