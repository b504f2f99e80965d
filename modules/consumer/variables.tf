variable "principal" {
  type        = string
  nullable    = false
  description = "Principal of the consumer, such as \"User:name\"."

  validation {
    condition     = can(regex("^[A-Za-z]+:.+$", var.principal))
    error_message = "A principal has the form \"User:name\"."
  }
}

variable "topics" {
  type        = set(string)
  default     = []
  nullable    = false
  description = "Names of the topics to read."

  validation {
    condition     = length(var.topics) + length(var.topic_prefixes) > 0
    error_message = "A consumer requires topics, topic_prefixes or both."
  }
}

variable "topic_prefixes" {
  type        = set(string)
  default     = []
  nullable    = false
  description = "Prefixes of topic names. They match existing and future topics."

  validation {
    condition     = !contains(var.topic_prefixes, "")
    error_message = "An empty prefix matches every topic. Use \"*\" in topics instead."
  }
}

variable "group" {
  type        = string
  description = "The consumer group; null for a client that assigns partitions manually and commits no offsets."

  validation {
    condition     = var.group != ""
    error_message = "The name of a group cannot be empty; use null for no group."
  }
}

variable "group_is_prefix" {
  type        = bool
  default     = false
  nullable    = false
  description = "Whether group is a prefix of the names of all allowed groups."
}

variable "host" {
  type        = string
  default     = "*"
  nullable    = false
  description = "IP address of the client; \"*\" allows any."
}
