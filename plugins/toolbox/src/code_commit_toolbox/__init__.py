"""Tools for models and an agent loop that uses them: a library for workflows of code-commit."""
