moved {
  from=kafka_topic.a
  to=kafka_topic.b["x"]
}
removed {
  from=kafka_topic.c
  lifecycle { destroy=false }
}
import {
  to=kafka_topic.d
  id="d"
}
check "x" {
  assert {
    condition=length(var.x)>0
    error_message="no"
  }
}
