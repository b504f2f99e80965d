variable "principal" {
  type        = string
  nullable    = false
  description = "Principal of the job that plans, such as \"User:ci-plan\"."

  validation {
    condition     = can(regex("^[A-Za-z]+:.+$", var.principal))
    error_message = "A principal has the form \"User:name\"."
  }
}

variable "state_topic" {
  type        = string
  default     = "__kplan_state"
  description = "Topic with the state; null for a state in a file."

  validation {
    condition     = var.state_topic != ""
    error_message = "The name of a topic cannot be empty; use null for a state in a file."
  }
}

variable "host" {
  type        = string
  default     = "*"
  nullable    = false
  description = "IP address of the job; \"*\" allows any."
}
