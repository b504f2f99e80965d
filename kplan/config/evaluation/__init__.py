"""Evaluation of expressions: references, operators, templates, loops and function calls."""
