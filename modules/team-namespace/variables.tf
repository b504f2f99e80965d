variable "team" {
  type        = string
  nullable    = false
  description = "Name of the team."

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*$", var.team))
    error_message = "The name of a team has lower-case letters, digits and \"-\", and begins with a letter."
  }
}

variable "prefix" {
  type        = string
  default     = null
  description = "Prefix of all topics, groups and transactional ids of the team; null for \"TEAM.\"."

  validation {
    condition     = can(regex("[._-]$", coalesce(var.prefix, ".")))
    error_message = "A prefix must end with \".\", \"_\" or \"-\", so that it does not match names of other teams."
  }
}

variable "members" {
  type        = set(string)
  default     = []
  nullable    = false
  description = "Principals of the team's services. Within the prefix they read, write, use groups and run transactions."
}

variable "maintainers" {
  type        = set(string)
  default     = []
  nullable    = false
  description = "Principals that maintain the namespace. Within the prefix they create, alter and delete topics, and delete groups."
}

variable "guests" {
  type        = set(string)
  default     = []
  nullable    = false
  description = "Principals of other teams that may read all topics of the team, with groups in their own namespace."
}

variable "topics" {
  type = map(object({
    partitions = optional(number, 1)
    config     = optional(map(string), {})
  }))
  default     = {}
  nullable    = false
  description = "Topics, by their name without the prefix."

  validation {
    condition     = alltrue([for topic in values(var.topics) : topic.partitions <= var.limits.partitions])
    error_message = "A topic of the namespace cannot have more than ${var.limits.partitions} partitions."
  }

  validation {
    condition = alltrue([
      for topic in values(var.topics) :
      var.limits.retention_ms == -1 || (
        tonumber(lookup(topic.config, "retention.ms", "0")) >= 0 &&
        tonumber(lookup(topic.config, "retention.ms", "0")) <= var.limits.retention_ms
      )
    ])
    error_message = "A topic of the namespace cannot keep records longer than ${var.limits.retention_ms} ms."
  }
}

variable "limits" {
  type = object({
    partitions   = optional(number, 24)
    retention_ms = optional(number, 2592000000)
  })
  default     = {}
  nullable    = false
  description = "Maximum partitions and retention.ms of a topic; a retention_ms of -1 is no limit."
}

variable "replication_factor" {
  type        = number
  default     = 3
  nullable    = false
  description = "Replicas of each partition."
}

variable "host" {
  type        = string
  default     = "*"
  nullable    = false
  description = "IP address of the clients; \"*\" allows any."
}
