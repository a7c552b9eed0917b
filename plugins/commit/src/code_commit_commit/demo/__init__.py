"""`code-commit demo`: replays a recorded run in a copy of a small project."""
