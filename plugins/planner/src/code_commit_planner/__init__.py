"""Workflows of code-commit: planning with a person, and implementation by a coach and a player."""
