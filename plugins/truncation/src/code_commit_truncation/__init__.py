"""Sends replacements that leave code out back for repair: a path rule of code-commit."""

__version__ = "0.1.0"
