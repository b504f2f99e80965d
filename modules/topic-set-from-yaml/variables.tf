variable "file" {
  type        = string
  nullable    = false
  description = "The YAML file; write \"$${path.module}/topics.yaml\" for one beside the caller."

  validation {
    condition     = fileexists(var.file)
    error_message = "There is no file ${var.file}."
  }

  validation {
    condition     = can(keys(yamldecode(file(var.file)).topics))
    error_message = "The file ${var.file} is no YAML with a mapping \"topics\"."
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
  description = "What stands before the name of every topic."
}

variable "partitions" {
  type        = number
  default     = 1
  nullable    = false
  description = "Partitions of a topic where the file says nothing."
}

variable "replication_factor" {
  type        = number
  default     = 3
  nullable    = false
  description = "Copies of each partition where the file says nothing."
}
