"""The folder of a project for settings, keys and state. git tracks nothing in it."""

from __future__ import annotations

PRIVATE_FOLDER = "agent-config"  #: the folder of a project for settings, keys and state
STATE_FOLDER = f"{PRIVATE_FOLDER}/.code-commit"
