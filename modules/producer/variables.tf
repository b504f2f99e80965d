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

variable "host" {
  type        = string
  default     = "*"
  nullable    = false
  description = "IP address of the client; \"*\" allows any."
}
