"""A response format of code-commit: search and replace blocks, for large files."""

__version__ = "0.1.0"
