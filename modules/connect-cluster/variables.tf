variable "principal" {
  type        = string
  nullable    = false
  description = "Principal of the workers, such as \"User:name\"."

  validation {
    condition     = can(regex("^[A-Za-z]+:.+$", var.principal))
    error_message = "A principal has the form \"User:name\"."
  }
}

variable "group_id" {
  type        = string
  nullable    = false
  description = "The group.id of the workers."

  validation {
    condition     = can(regex("^[A-Za-z0-9._-]+$", var.group_id))
    error_message = "A group id is a prefix of topics: use letters, digits, \".\", \"_\" and \"-\"."
  }
}

variable "config_topic" {
  type        = string
  default     = null
  description = "Topic of the connectors' configurations; null for GROUP_ID-configs."
}

variable "offset_topic" {
  type        = string
  default     = null
  description = "Topic of the source connectors' offsets; null for GROUP_ID-offsets."
}

variable "status_topic" {
  type        = string
  default     = null
  description = "Topic of the connectors' and tasks' status; null for GROUP_ID-status."
}

variable "offset_partitions" {
  type        = number
  default     = 25
  nullable    = false
  description = "Partitions of the offset topic; 25 is the default of Connect."
}

variable "status_partitions" {
  type        = number
  default     = 5
  nullable    = false
  description = "Partitions of the status topic; 5 is the default of Connect."
}

variable "replication_factor" {
  type        = number
  default     = 3
  nullable    = false
  description = "Replicas of each partition of the three topics."
}

variable "connectors" {
  type = map(object({
    reads  = optional(set(string), [])
    writes = optional(set(string), [])
  }))
  default     = {}
  nullable    = false
  description = "Connectors by name: the topics that they read (sinks) and write (sources, and dead letter queues of sinks)."

  validation {
    condition     = alltrue([for connector in values(var.connectors) : length(setunion(connector.reads, connector.writes)) > 0])
    error_message = "A connector must read or write at least one topic."
  }
}

variable "exactly_once_source" {
  type        = bool
  default     = false
  nullable    = false
  description = "Whether the workers run with exactly.once.source.support (KIP-618)."
}

variable "host" {
  type        = string
  default     = "*"
  nullable    = false
  description = "IP address of the client; \"*\" allows any."
}
