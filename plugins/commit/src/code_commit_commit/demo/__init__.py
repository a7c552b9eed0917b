"""`code-commit demo`: a recorded run, played in a scratch copy of a small project."""
