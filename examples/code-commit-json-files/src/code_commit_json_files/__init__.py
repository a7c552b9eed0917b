"""A response format of code-commit: a JSON object of files."""
