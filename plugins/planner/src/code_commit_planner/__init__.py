"""Workflows of code-commit: planning with a person, and building with a coach and a player."""

__version__ = "0.1.0"
