"""`code-commit runs`: one module per action."""
