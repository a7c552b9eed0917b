"""A KIND for code-commit."""
