variable "source_alias" {
  type        = string
  nullable    = false
  description = "Alias of the source cluster in the settings of MirrorMaker; it is the prefix of mirrored topics."

  validation {
    condition     = can(regex("^[A-Za-z0-9._-]+$", var.source_alias))
    error_message = "An alias is a prefix of topics: use letters, digits, \".\", \"_\" and \"-\"."
  }
}

variable "target_alias" {
  type        = string
  nullable    = false
  description = "Alias of the target cluster in the settings of MirrorMaker."

  validation {
    condition     = can(regex("^[A-Za-z0-9._-]+$", var.target_alias))
    error_message = "An alias is a part of the names of topics: use letters, digits, \".\", \"_\" and \"-\"."
  }
}

variable "source_principal" {
  type        = string
  nullable    = false
  description = "Principal of MirrorMaker on the source cluster, such as \"User:name\"."

  validation {
    condition     = can(regex("^[A-Za-z]+:.+$", var.source_principal))
    error_message = "A principal has the form \"User:name\"."
  }
}

variable "target_principal" {
  type        = string
  nullable    = false
  description = "Principal of MirrorMaker on the target cluster, such as \"User:name\"."

  validation {
    condition     = can(regex("^[A-Za-z]+:.+$", var.target_principal))
    error_message = "A principal has the form \"User:name\"."
  }
}

variable "topics" {
  type        = set(string)
  default     = []
  nullable    = false
  description = "Topics to mirror. Add \"heartbeats\" if another flow writes them to the source cluster."
}

variable "topic_prefixes" {
  type        = set(string)
  default     = []
  nullable    = false
  description = "Prefixes of topics to mirror."

  validation {
    condition     = length(var.topics) + length(var.topic_prefixes) > 0
    error_message = "Name at least one topic or prefix."
  }
}

variable "group_prefixes" {
  type        = set(string)
  default     = []
  nullable    = false
  description = "Prefixes of the groups whose offsets are mirrored, and committed on the target cluster (sync.group.offsets.enabled)."
}

variable "replication_factor" {
  type        = number
  default     = 3
  nullable    = false
  description = "Replicas of each partition of the internal topics."
}

variable "host" {
  type        = string
  default     = "*"
  nullable    = false
  description = "IP address of the client; \"*\" allows any."
}
