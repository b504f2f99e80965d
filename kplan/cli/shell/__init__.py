"""Completion in bash, zsh, fish and PowerShell: the line, the candidates and the scripts."""
