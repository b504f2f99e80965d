variable "principal" {
  type        = string
  nullable    = false
  description = "Who the workers are to Kafka, as \"User:name\"."

  validation {
    condition     = can(regex("^[A-Za-z]+:.+$", var.principal))
    error_message = "A principal is written as \"User:name\"."
  }
}

variable "group_id" {
  type        = string
  nullable    = false
  description = "The group.id that the workers share."

  validation {
    condition     = can(regex("^[A-Za-z0-9._-]+$", var.group_id))
    error_message = "A group id begins names of topics: letters, digits, \".\", \"_\" and \"-\"."
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
  description = "Partitions of the offset topic; 25 is Connect's own choice."
}

variable "status_partitions" {
  type        = number
  default     = 5
  nullable    = false
  description = "Partitions of the status topic; 5 is Connect's own choice."
}

variable "replication_factor" {
  type        = number
  default     = 3
  nullable    = false
  description = "Copies of each partition of the three topics."
}

variable "connectors" {
  type = map(object({
    reads  = optional(set(string), [])
    writes = optional(set(string), [])
  }))
  default     = {}
  nullable    = false
  description = "By name of the connector, the topics that it reads (a sink) and writes (a source, or dead letters of a sink)."

  validation {
    condition     = alltrue([for connector in values(var.connectors) : length(setunion(connector.reads, connector.writes)) > 0])
    error_message = "A connector reads or writes at least one topic."
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
  description = "IP address that the client comes from; \"*\" is any."
}
