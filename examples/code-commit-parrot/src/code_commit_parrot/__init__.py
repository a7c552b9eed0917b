"""Parrot as a provider of code-commit."""
