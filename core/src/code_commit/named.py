"""Code that is named as text, so that it is imported only where it is used."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def named(target: str) -> Any:
    """Return what `"package.module:name"` names.

    Raises:
        ImportError, AttributeError: there is no such thing.
    """
    module, _, path = target.partition(":")
    code: Any = import_module(module)
    for name in path.split(".") if path else ():
        code = getattr(code, name)
    return code
