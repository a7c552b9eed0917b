"""Limits the model calls of code-commit per minute."""
