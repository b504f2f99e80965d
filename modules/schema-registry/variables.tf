variable "principal" {
  type        = string
  nullable    = false
  description = "Principal of the registry, such as \"User:name\"."

  validation {
    condition     = can(regex("^[A-Za-z]+:.+$", var.principal))
    error_message = "A principal has the form \"User:name\"."
  }
}

variable "topic" {
  type        = string
  default     = "_schemas"
  nullable    = false
  description = "Topic of the schemas (kafkastore.topic)."
}

variable "group_id" {
  type        = string
  default     = "schema-registry"
  nullable    = false
  description = "Group in which the instances elect their leader (schema.registry.group.id)."
}

variable "replication_factor" {
  type        = number
  default     = 3
  nullable    = false
  description = "Replicas of the topic of the schemas."
}

variable "host" {
  type        = string
  default     = "*"
  nullable    = false
  description = "IP address of the client; \"*\" allows any."
}
