"""The layout of HCL files, as `terraform fmt` has it."""
