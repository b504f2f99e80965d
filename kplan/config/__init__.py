"""HCL text to resources with source ranges."""
