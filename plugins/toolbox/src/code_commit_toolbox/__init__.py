"""Tools for models, and the loop in which a model uses them: a library for workflows of code-commit."""

__version__ = "0.1.0"
