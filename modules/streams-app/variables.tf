variable "principal" {
  type        = string
  nullable    = false
  description = "Who the application is to Kafka, as \"User:name\"."

  validation {
    condition     = can(regex("^[A-Za-z]+:.+$", var.principal))
    error_message = "A principal is written as \"User:name\"."
  }
}

variable "application_id" {
  type        = string
  nullable    = false
  description = "The application.id: its consumer group, and the first part of its internal topics' names."

  validation {
    condition     = can(regex("^[A-Za-z0-9._-]+$", var.application_id))
    error_message = "An application id begins names of topics: letters, digits, \".\", \"_\" and \"-\"."
  }
}

variable "input_topics" {
  type        = set(string)
  nullable    = false
  description = "Names of the topics that the application reads."

  validation {
    condition     = length(var.input_topics) > 0
    error_message = "A Streams application reads at least one topic."
  }
}

variable "output_topics" {
  type        = set(string)
  default     = []
  nullable    = false
  description = "Names of the topics that the application writes; none if its result is only queried."
}

variable "processing_guarantee" {
  type        = string
  default     = "at_least_once"
  nullable    = false
  description = "The processing.guarantee: \"at_least_once\" or \"exactly_once_v2\"."

  validation {
    condition     = contains(["at_least_once", "exactly_once_v2"], var.processing_guarantee)
    error_message = "The guarantee is \"at_least_once\" or \"exactly_once_v2\"."
  }
}

variable "host" {
  type        = string
  default     = "*"
  nullable    = false
  description = "IP address that the client comes from; \"*\" is any."
}
