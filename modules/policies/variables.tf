variable "name_pattern" {
  type        = string
  default     = "^[a-z0-9]+([.-][a-z0-9]+)+$"
  description = "What names of topics look like, as a regular expression; \"\" lets any pass."
}

variable "min_replication_factor" {
  type        = number
  default     = 3
  description = "The fewest copies of a topic."
}

variable "max_partitions" {
  type        = number
  default     = 50
  description = "The most partitions of one topic."
}

variable "max_cluster_partitions" {
  type        = number
  default     = 4000
  description = "The most partitions of all topics of the cluster together."
}

variable "max_partitions_per_broker" {
  type        = number
  default     = 4000
  description = "The most replicas on one broker, counted as if they lay evenly."
}

variable "max_retention_ms" {
  type        = number
  default     = 2592000000
  description = "The longest retention that needs no reason; the default is 30 days."
}

variable "owners" {
  type        = map(list(string))
  default     = {}
  description = "Prefixes of the topics and groups of each team, by the principal that applies for it; principals that are not in it may change all."
}

variable "waivers" {
  type = list(object({
    policy     = string
    owner      = string
    reason     = string
    expires    = string
    applies_to = list(string)
  }))
  default     = []
  description = "Who is excepted from which policy, who answers for it, why, and until which day."
}
