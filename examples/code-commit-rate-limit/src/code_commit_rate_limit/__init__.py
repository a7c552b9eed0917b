"""Keeps code-commit to a number of model calls per minute."""
