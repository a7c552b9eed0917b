"""Contexts of code-commit: choose the files that fit a query."""

__version__ = "0.1.0"
