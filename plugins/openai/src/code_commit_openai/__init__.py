"""OpenAI, and any server with its chat protocol, as a provider of code-commit."""

__version__ = "0.1.0"
