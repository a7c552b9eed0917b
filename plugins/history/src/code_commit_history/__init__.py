"""Lists, shows, compares, replays and prunes earlier runs of code-commit."""

__version__ = "0.1.0"
