"""Lets code-commit accept a change only with a news fragment."""
