variable "topics" {
  type = map(object({
partitions=number
    config = optional(map(string),{})
      acls=optional(list(object({
    principal=string
    operations = list(string)
  })),[])
  }))
  default={}
}
