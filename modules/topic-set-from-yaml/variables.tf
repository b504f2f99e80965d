variable "file" {
  type        = string
  nullable    = false
  description = "The YAML file, such as \"$${path.module}/topics.yaml\" in the folder of the caller."

  validation {
    condition     = fileexists(var.file)
    error_message = "The file ${var.file} does not exist."
  }

  validation {
    condition     = can(keys(yamldecode(file(var.file)).topics))
    error_message = "The file ${var.file} is not YAML with a mapping \"topics\"."
  }

  validation {
    condition     = length(setsubtract(try(keys(yamldecode(file(var.file))), []), ["defaults", "topics"])) == 0
    error_message = "The file ${var.file} has keys other than \"defaults\" and \"topics\"."
  }

  validation {
    condition = length(setsubtract(
      try(keys(yamldecode(file(var.file)).defaults), []), ["config", "partitions", "replication_factor"],
    )) == 0
    error_message = "The defaults in ${var.file} have keys other than config, partitions, replication_factor."
  }
}

variable "prefix" {
  type        = string
  default     = ""
  nullable    = false
  description = "Prefix of the names of all topics."
}

variable "partitions" {
  type        = number
  default     = 1
  nullable    = false
  description = "Partitions of a topic without partitions in the file."
}

variable "replication_factor" {
  type        = number
  default     = 3
  nullable    = false
  description = "Replicas of each partition without a replication_factor in the file."
}
