variable "principal" {
  type        = string
  nullable    = false
  description = "Who reads, as \"User:name\"."

  validation {
    condition     = can(regex("^[A-Za-z]+:.+$", var.principal))
    error_message = "A principal is written as \"User:name\"."
  }
}

variable "topics" {
  type        = set(string)
  default     = []
  nullable    = false
  description = "Names of the topics to read."

  validation {
    condition     = length(var.topics) + length(var.topic_prefixes) > 0
    error_message = "A consumer reads something: name topics, topic_prefixes or both."
  }
}

variable "topic_prefixes" {
  type        = set(string)
  default     = []
  nullable    = false
  description = "Prefixes of topic names: every topic that begins with one, also those to come."

  validation {
    condition     = !contains(var.topic_prefixes, "")
    error_message = "An empty prefix stands for every topic: name \"*\" among topics if that is meant."
  }
}

variable "group" {
  type        = string
  description = "The consumer group; null for a client that assigns partitions to itself and commits nothing."

  validation {
    condition     = var.group != ""
    error_message = "The name of a group is not empty; null stands for no group."
  }
}

variable "group_is_prefix" {
  type        = bool
  default     = false
  nullable    = false
  description = "Whether group is a prefix: any group that begins with it may be used."
}

variable "host" {
  type        = string
  default     = "*"
  nullable    = false
  description = "IP address that the client comes from; \"*\" is any."
}
