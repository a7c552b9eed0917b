"""Adds AGENTS.md to the prompts of code-commit."""
