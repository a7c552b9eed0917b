"""Google Gemini as a provider of code-commit."""

__version__ = "0.1.0"
