"""Import objects by name, and libraries without what they do not need here.

If click and rich are installed, httpx imports its command line, and structlog a renderer for
developers. A run uses neither, and the imports would take half the time of a short run.
genai-prices imports a second HTTP library, to update its prices, and structlog asyncio. Nothing
here uses them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import reduce
from importlib import import_module
from types import ModuleType
from typing import Any


@contextmanager
def import_without(*modules: str) -> Iterator[None]:
    """Make `modules` look missing to the imports in the block, unless they are imported already.

    Use it for libraries whose documentation calls these modules optional.
    """
    hidden = [module for module in modules if module not in sys.modules]
    for module in hidden:
        sys.modules[module] = None  # type: ignore[assignment] # Python's mark for a module that cannot be imported
    try:
        yield
    finally:
        for module in hidden:
            sys.modules.pop(module, None)


@contextmanager
def import_later(module: str) -> Iterator[None]:
    """Give the imports in the block a stand-in for `module`, which is imported on first use."""
    if module in sys.modules:
        yield
        return
    stand_in = ModuleType(module)

    def on_first_use(name: str) -> Any:
        if sys.modules.get(module) is stand_in:  # in the block
            del sys.modules[module]
        return getattr(import_module(module), name)

    stand_in.__getattr__ = on_first_use  # type: ignore[method-assign]
    sys.modules[module] = stand_in
    try:
        yield
    finally:
        if sys.modules.get(module) is stand_in:
            del sys.modules[module]


@contextmanager
def log_without_tasks() -> Iterator[None]:
    """Keep `logging` in the block from asking asyncio for the name of a task.

    It asks whatever has the name asyncio, from Python 3.12 on.
    """
    import logging

    asks = vars(logging).get("logAsyncioTasks")
    vars(logging)["logAsyncioTasks"] = False
    try:
        yield
    finally:
        vars(logging)["logAsyncioTasks"] = asks


@contextmanager
def import_without_plugins() -> Iterator[None]:
    """Import pydantic in the block, which then never searches all distributions for its plugins.

    `PYDANTIC_DISABLE_PLUGINS` does this too, but builds would inherit it. If pydantic no longer has
    this list, it searches as usual.
    """
    with suppress(ImportError):
        from pydantic.plugin import _loader

        _loader._plugins = {}  # noqa: SLF001 - see above
    yield


def import_object(target: str) -> Any:
    """Return the object called `"package.module:name"`, or the module if there is no name.

    (`pkgutil.resolve_name` does this too, and compiles a regular expression first.)

    Raises:
        ImportError, AttributeError, ValueError: it does not exist.
    """
    module, _, names = target.partition(":")
    return reduce(getattr, filter(None, names.split(".")), import_module(module))
