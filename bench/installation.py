"""The default installation, `[gemini,report]`, in an environment with all plugins."""

from __future__ import annotations

from importlib.metadata import entry_points

DEFAULT = {"commit", "history", "gemini", "acceptance", "context", "html"}  # plugins
# The flags that leave out what the default installation does not have.
WITHOUT_OTHERS = [
    word
    for name in sorted({entry.name for entry in entry_points(group="code_commit")} - DEFAULT)
    for word in ("--disable-plugin", name)
]
