"""Pushes the changes of code-commit to branches."""
