"""Heron, a service with access tokens, as a provider of code-commit."""
