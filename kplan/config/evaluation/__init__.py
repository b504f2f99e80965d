"""Evaluation of expressions."""
