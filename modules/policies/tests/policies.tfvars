# The values of the variables for the cases beside this file.
min_replication_factor = 1
max_partitions         = 12
max_cluster_partitions = 60
owners                 = { "User:ci-shop" = ["shop."] }
waivers = [{
  policy     = "partitions"
  owner      = "team-shop"
  reason     = "load test of May"
  expires    = "2027-05-31"
  applies_to = ["shop.load"]
}]
