"""The manual: pages of commands and topics, as Markdown and as man pages."""
