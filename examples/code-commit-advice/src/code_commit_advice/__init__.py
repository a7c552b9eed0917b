"""Collects advice on a project from plugins of code-commit."""
