variable "principal" {
  type        = string
  nullable    = false
  description = "Principal of the producer, such as \"User:name\"."

  validation {
    condition     = can(regex("^[A-Za-z]+:.+$", var.principal))
    error_message = "A principal has the form \"User:name\"."
  }
}

variable "topics" {
  type        = set(string)
  default     = []
  nullable    = false
  description = "Names of the topics to write to."

  validation {
    condition     = length(var.topics) + length(var.topic_prefixes) > 0
    error_message = "A producer requires topics, topic_prefixes or both."
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

variable "transactional_id" {
  type        = string
  nullable    = false
  description = "The transactional id, or the prefix of all transactional ids."

  validation {
    condition     = var.transactional_id != ""
    error_message = "A transactional id cannot be empty. An empty prefix would allow fencing all producers."
  }
}

variable "transactional_id_is_prefix" {
  type        = bool
  default     = false
  nullable    = false
  description = "Whether transactional_id is a prefix, to which each instance of the service adds a suffix."
}

variable "host" {
  type        = string
  default     = "*"
  nullable    = false
  description = "IP address of the client; \"*\" allows any."
}
