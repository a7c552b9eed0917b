"""OpenAI, and any server with its chat protocol, as a provider of code-commit."""
