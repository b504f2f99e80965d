topics = {
  orders   = { partitions = 3 }
  payments = { partitions = "many" }
}
nullable = null
neded    = "x"
called   = upper("x")
