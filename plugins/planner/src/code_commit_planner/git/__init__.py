"""The repository of the codebase: its state, staging and the commit."""
