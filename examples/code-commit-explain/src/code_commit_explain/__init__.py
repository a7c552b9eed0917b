"""A workflow of code-commit that explains a file."""
