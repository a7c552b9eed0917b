"""Keeps a ledger of the runs of code-commit."""
