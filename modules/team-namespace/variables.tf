variable "team" {
  type        = string
  nullable    = false
  description = "Name of the team."

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*$", var.team))
    error_message = "A team is named with lower-case letters, digits and \"-\", and begins with a letter."
  }
}

variable "prefix" {
  type        = string
  default     = null
  description = "What every topic, group and transactional id of the team begins with; null for \"TEAM.\"."

  validation {
    condition     = can(regex("[._-]$", coalesce(var.prefix, ".")))
    error_message = "A prefix ends with \".\", \"_\" or \"-\", so that no other team's names begin with it by chance."
  }
}

variable "members" {
  type        = set(string)
  default     = []
  nullable    = false
  description = "Principals of the team's services: they read, write, use groups and run transactions within the prefix."
}

variable "maintainers" {
  type        = set(string)
  default     = []
  nullable    = false
  description = "Principals that look after the namespace: they create, change and delete topics and delete groups within the prefix."
}

variable "guests" {
  type        = set(string)
  default     = []
  nullable    = false
  description = "Principals of others that may read every topic of the team; their groups are in a namespace of theirs."
}

variable "topics" {
  type = map(object({
    partitions = optional(number, 1)
    config     = optional(map(string), {})
  }))
  default     = {}
  nullable    = false
  description = "Topics by their name without the prefix."

  validation {
    condition     = alltrue([for topic in values(var.topics) : topic.partitions <= var.limits.partitions])
    error_message = "No topic of the namespace has more than ${var.limits.partitions} partitions."
  }

  validation {
    condition = alltrue([
      for topic in values(var.topics) :
      var.limits.retention_ms == -1 || (
        tonumber(lookup(topic.config, "retention.ms", "0")) >= 0 &&
        tonumber(lookup(topic.config, "retention.ms", "0")) <= var.limits.retention_ms
      )
    ])
    error_message = "No topic of the namespace keeps its records longer than ${var.limits.retention_ms} ms."
  }
}

variable "limits" {
  type = object({
    partitions   = optional(number, 24)
    retention_ms = optional(number, 2592000000)
  })
  default     = {}
  nullable    = false
  description = "The most partitions and the longest retention.ms that a topic may have; a retention_ms of -1 is no limit."
}

variable "replication_factor" {
  type        = number
  default     = 3
  nullable    = false
  description = "Copies of each partition of the topics."
}

variable "host" {
  type        = string
  default     = "*"
  nullable    = false
  description = "IP address that the clients come from; \"*\" is any."
}
