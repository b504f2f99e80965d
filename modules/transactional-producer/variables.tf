variable "principal" {
  type        = string
  nullable    = false
  description = "Who writes, as \"User:name\"."

  validation {
    condition     = can(regex("^[A-Za-z]+:.+$", var.principal))
    error_message = "A principal is written as \"User:name\"."
  }
}

variable "topics" {
  type        = set(string)
  default     = []
  nullable    = false
  description = "Names of the topics to write to."

  validation {
    condition     = length(var.topics) + length(var.topic_prefixes) > 0
    error_message = "A producer writes to something: name topics, topic_prefixes or both."
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

variable "transactional_id" {
  type        = string
  nullable    = false
  description = "The transactional id, or what every one of them begins with."

  validation {
    condition     = var.transactional_id != ""
    error_message = "A transactional id is not empty: an empty prefix would let the producer fence all others."
  }
}

variable "transactional_id_is_prefix" {
  type        = bool
  default     = false
  nullable    = false
  description = "Whether transactional_id is a prefix: each instance of the service adds something of its own."
}

variable "host" {
  type        = string
  default     = "*"
  nullable    = false
  description = "IP address that the client comes from; \"*\" is any."
}
