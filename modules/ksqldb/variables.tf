variable "principal" {
  type        = string
  nullable    = false
  description = "Principal of the servers, such as \"User:name\"."

  validation {
    condition     = can(regex("^[A-Za-z]+:.+$", var.principal))
    error_message = "A principal has the form \"User:name\"."
  }
}

variable "service_id" {
  type        = string
  nullable    = false
  description = "The ksql.service.id of the servers, such as \"default_\"."

  validation {
    condition     = can(regex("^[A-Za-z0-9._-]+$", var.service_id))
    error_message = "A service id is a part of the names of topics: use letters, digits, \".\", \"_\" and \"-\"."
  }
}

variable "reads" {
  type        = set(string)
  default     = []
  nullable    = false
  description = "Topics that streams and tables are made from."
}

variable "writes" {
  type        = set(string)
  default     = []
  nullable    = false
  description = "Topics that queries write; their owners declare them."
}

variable "exactly_once" {
  type        = bool
  default     = false
  nullable    = false
  description = "Whether queries run with processing.guarantee = exactly_once_v2."
}

variable "replication_factor" {
  type        = number
  default     = 3
  nullable    = false
  description = "Replicas of the processing log."
}

variable "host" {
  type        = string
  default     = "*"
  nullable    = false
  description = "IP address of the client; \"*\" allows any."
}
