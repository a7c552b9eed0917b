"""Changes code by a query, until its build passes: the default workflow of code-commit."""

__version__ = "0.1.0"
