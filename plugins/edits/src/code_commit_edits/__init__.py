"""A response format of code-commit: search and replace blocks, for large files."""
