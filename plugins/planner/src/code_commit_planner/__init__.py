"""Workflows of code-commit: planning with a person, and implementation by a coach and a player."""

__version__ = "0.1.0"
