"""Which kplan this is; the build reads it from here."""

VERSION = "0.1.0"
LANGUAGE_VERSION = "1.11.4"
"""The version of Terraform whose language and documents kplan reads and writes."""
