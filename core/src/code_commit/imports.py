"""Imports that are put off, and imports of libraries without their optional parts.

httpx brings a command line where click and rich are installed, structlog a renderer for developers where rich is. Both
load them at import, and so half of what a short run takes would be spent on what it never uses.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


@contextmanager
def import_without(*modules: str) -> Iterator[None]:
    """Let the imports inside find `modules` missing, as far as nobody has imported them before.

    Afterwards they can be imported as ever; what was imported inside stays without them. For libraries that do well
    without, by their own documentation.
    """
    hidden = [module for module in modules if module not in sys.modules]
    for module in hidden:
        sys.modules[module] = None  # type: ignore[assignment] # Python's own mark for what cannot be imported
    try:
        yield
    finally:
        for module in hidden:
            sys.modules.pop(module, None)


def import_object(target: str) -> Any:
    """Return what `"package.module:name"` names.

    Raises:
        ImportError, AttributeError: there is no such thing.
    """
    module, _, path = target.partition(":")
    code: Any = import_module(module)
    for name in path.split(".") if path else ():
        code = getattr(code, name)
    return code
