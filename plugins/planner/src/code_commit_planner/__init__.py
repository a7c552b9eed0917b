"""Planning with a person, and building with a coach and a player: workflows of code-commit."""

__version__ = "0.1.0"
