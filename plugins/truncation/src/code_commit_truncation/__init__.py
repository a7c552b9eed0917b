"""A path rule of code-commit: send replacements that leave code out back for repair."""

__version__ = "0.1.0"
