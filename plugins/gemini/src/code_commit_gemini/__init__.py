"""Google Gemini as a provider of code-commit."""
