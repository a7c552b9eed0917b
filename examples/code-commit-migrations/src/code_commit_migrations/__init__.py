"""Keeps code-commit from changing old migrations."""
