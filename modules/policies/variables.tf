variable "name_pattern" {
  type        = string
  default     = "^[a-z0-9]+([.-][a-z0-9]+)+$"
  description = "Regular expression for names of topics; \"\" allows any."
}

variable "min_replication_factor" {
  type        = number
  default     = 3
  description = "Minimum replication factor of a topic."
}

variable "max_partitions" {
  type        = number
  default     = 50
  description = "Maximum partitions of one topic."
}

variable "max_cluster_partitions" {
  type        = number
  default     = 4000
  description = "Maximum partitions of all topics of the cluster."
}

variable "max_partitions_per_broker" {
  type        = number
  default     = 4000
  description = "Maximum replicas on one broker, if they are evenly distributed."
}

variable "max_retention_ms" {
  type        = number
  default     = 2592000000
  description = "Maximum retention without an override; the default is 30 days."
}

variable "owners" {
  type        = map(list(string))
  default     = {}
  description = "Prefixes of the topics and groups of each team, by the principal that applies its changes. Other principals may change all objects."
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
  description = "Exceptions from a policy, each with its owner, reason and last day."
}
