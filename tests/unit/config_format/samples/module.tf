module "pay" {
  source="./modules/team"
  for_each={
    eu="a"
    us="b"
  }
  name="${each.key}-${each.value}"
  providers={
    kafka=kafka.eu
  }
  depends_on=[module.base,kafka_topic.x]
}
