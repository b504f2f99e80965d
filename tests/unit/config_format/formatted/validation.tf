variable "name" {
  type        = string
  description = "Name; at most 249 characters."
  validation {
    condition     = length(var.name) <= 249 && can(regex("^[a-z.]+$", var.name))
    error_message = "Bad name: ${var.name}."
  }
}
