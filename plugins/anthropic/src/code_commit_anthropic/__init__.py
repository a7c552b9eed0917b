"""Anthropic Claude as a provider of code-commit."""
