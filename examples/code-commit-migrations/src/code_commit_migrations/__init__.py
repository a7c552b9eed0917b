"""Prevents code-commit from changing existing migrations."""
