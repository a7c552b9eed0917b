"""The version of the plugin API."""

from __future__ import annotations

from code_commit import __version__

_major, _minor, *_ = __version__.split(".")
# A plugin states what it needs as a requirement of its distribution: `code-commit>=MAJOR.MINOR`.
API: tuple[int, int] = (int(_major), int(_minor))
