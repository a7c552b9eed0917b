"""Asks a second model if the first one refuses."""
