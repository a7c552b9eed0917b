"""Lists, shows, compares, replays and prunes earlier runs of code-commit."""
