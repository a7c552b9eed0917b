"""Old names of public things: they work for one more minor version, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Mapping


def current_name(module: str, name: str, renamed: Mapping[str, tuple[str, str]]) -> str:
    """Return the name that has replaced `name`, and warn whoever imports the old one.

    `renamed` has, by the old name, the new one and the first version without the old one. Only the
    `__getattr__` of a module calls this.
    """
    new, gone_in = renamed[name]
    warnings.warn(
        f"{module}.{name} is now {new}; code-commit {gone_in} will not have the old name",
        DeprecationWarning,
        stacklevel=3,
    )
    return new
