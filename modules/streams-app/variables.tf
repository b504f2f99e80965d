variable "principal" {
  type        = string
  nullable    = false
  description = "Principal of the application, such as \"User:name\"."

  validation {
    condition     = can(regex("^[A-Za-z]+:.+$", var.principal))
    error_message = "A principal has the form \"User:name\"."
  }
}

variable "application_id" {
  type        = string
  nullable    = false
  description = "The application.id, which is also the consumer group and the prefix of the internal topics."

  validation {
    condition     = can(regex("^[A-Za-z0-9._-]+$", var.application_id))
    error_message = "An application id is a prefix of topics: use letters, digits, \".\", \"_\" and \"-\"."
  }
}

variable "input_topics" {
  type        = set(string)
  nullable    = false
  description = "Names of the topics that the application reads."

  validation {
    condition     = length(var.input_topics) > 0
    error_message = "A Streams application requires at least one input topic."
  }
}

variable "output_topics" {
  type        = set(string)
  default     = []
  nullable    = false
  description = "Names of the topics that the application writes; empty if its results are only queried."
}

variable "processing_guarantee" {
  type        = string
  default     = "at_least_once"
  nullable    = false
  description = "The processing.guarantee: \"at_least_once\" or \"exactly_once_v2\"."

  validation {
    condition     = contains(["at_least_once", "exactly_once_v2"], var.processing_guarantee)
    error_message = "The guarantee must be \"at_least_once\" or \"exactly_once_v2\"."
  }
}

variable "host" {
  type        = string
  default     = "*"
  nullable    = false
  description = "IP address of the client; \"*\" allows any."
}
