"""Contexts of code-commit: choose the files that fit a query."""
