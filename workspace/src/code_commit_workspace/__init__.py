"""A project folder that a program may change: read, check, apply all or nothing, undo, run."""

__version__ = "0.1.0"
