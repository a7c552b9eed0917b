"""Import and call the code that plugins name and give, and check it and what it returns."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from code_commit.imports import import_object
from code_commit.plugin_api.definitions import (
    CheckDefinition,
    CommandDefinition,
    ProviderDefinition,
    WorkflowDefinition,
)
from code_commit.plugin_api.errors import CodeCommitError, Interrupted, UsageError
from code_commit.plugin_api.host import HOST, Plugin
from code_commit.plugin_api.sync_result import require_sync
from code_commit.plugins.host import ACCEPTANCE, PATH_RULES, PluginHost
from code_commit.terminal.streams import prints_aside
from code_commit_workspace.words import count_of, describe

T = TypeVar("T")

PYDANTIC = "a pydantic model"
# What the host calls, with the number of arguments.
CODE: Mapping[type[Any] | str, Mapping[str, int | str | None]] = {
    ProviderDefinition: {"config": PYDANTIC, "factory": None, "run_token": 2},
    WorkflowDefinition: {"run": 1, "options": PYDANTIC, "root": 2},
    CommandDefinition: {"run": 2, "arguments": 1},
    CheckDefinition: {"run": 2},
    PATH_RULES: {"judge": 2},
    ACCEPTANCE: {"accept": 2},
    "code_commit_log_sinks": {"receive": 1, "close": 0},
    "code_commit_model_layers": {"__call__": 2},
}


def import_code(definition: Any, field: str) -> Any:
    """Import what `definition` names in `field`; return None if it names nothing.

    Raises:
        UsageError: it cannot be imported, or the host cannot use it.
    """
    target = getattr(definition, field)
    if not target:
        return None
    return import_target(field, target, CODE[type(definition)][field])


def import_target(field: str, target: str, needed: int | str | None) -> Any:
    """Import the `target` of a `field`, which must be as `fault_of_code` checks.

    Raises:
        UsageError: it cannot be imported, or the host cannot use it.
    """
    try:
        with prints_aside():
            code = import_object(target)
    except (Interrupted, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise UsageError(f"{field} {target!r} cannot be imported: {describe(error)}") from error
    if fault := fault_of_code(code, needed):
        raise UsageError(f"{field} {target!r} {fault}")
    return code


@contextlib.contextmanager
def naming(plugin: Plugin, definition: Any) -> Iterator[None]:
    """Name the definition and its distribution in errors of the block, which runs its code.

    Raises:
        UsageError: the block raised.
    """
    try:
        yield
    except (Interrupted, KeyboardInterrupt):
        raise
    except BaseException as error:
        if plugin.distribution == HOST:
            raise
        kind = type(definition).__name__.removesuffix("Definition").lower()
        fault = describe(error)
        if isinstance(error, CodeCommitError):
            fault = error.message
        raise UsageError(
            f"the {kind} {definition.name} of {plugin.distribution} {plugin.version} is broken: "
            f"{fault}",
            hint="fix or uninstall the plugin",
        ) from error


@contextlib.contextmanager
def noting(plugin: Plugin, part: str) -> Iterator[None]:
    """Add to each error of the block that it came from this `part` of a plugin."""
    try:
        yield
    except BaseException as error:
        if plugin.distribution != HOST:
            error.add_note(f"in {part} of {plugin.distribution}")
        raise


def collect_objects(
    plugin_host: PluginHost,
    hook: str,
    arguments: Mapping[str, Callable[[Plugin], Any]],
    *,
    only: Plugin | None = None,
) -> Iterator[tuple[Plugin, Any]]:
    """Yield what plugins give for a hook.

    Report what is wrong with the objects of a hook of `CODE`.
    """
    for plugin, value in plugin_host.collect(hook, arguments, only=only):
        for fault in _faults_of(hook, value):
            plugin_host.reject(plugin, hook, fault)
        yield plugin, value


def _faults_of(hook: str, value: Any) -> Iterator[str]:
    if hook not in CODE:
        return
    name = str(getattr(value, "__name__", type(value).__name__))
    if isinstance(value, type):
        yield f"{name} is a class; return an object of it"
        return
    for method, count in CODE[hook].items():
        if method == "__call__":
            code = value
            label = name
        else:
            code = getattr(value, method, None)
            label = f"{name}.{method}"
        if fault := fault_of_code(code, count):
            yield f"{label} {fault}"
    if hook in {ACCEPTANCE, PATH_RULES} and not isinstance(getattr(value, "name", None), str):
        yield f"{name} has no `name`"


def fault_of_code(code: Any, needed: int | str | None) -> str:
    """Return why the host cannot use `code`, or an empty text.

    `needed` is the number of arguments that the host calls it with, None if that varies, or
    `PYDANTIC`.
    """
    if needed == PYDANTIC:
        return "" if hasattr(code, "model_validate") else f"is not {PYDANTIC}"
    if code is None:
        return "is missing"
    if not callable(code):
        return "is not callable"
    if is_async(code):
        return "is async; use a plain function"
    if isinstance(needed, int):
        with contextlib.suppress(ValueError):  # a builtin may have no signature
            signature = inspect.signature(code)
            try:
                signature.bind(*range(needed))
            except TypeError as error:
                return f"is called with {count_of(needed, 'argument')}: {error}"
    return ""


def is_async(code: Any) -> bool:
    """Return whether a call of `code` returns something to await."""
    functions = (code, getattr(code, "__call__", None))  # noqa: B004
    return any(
        inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
        for function in functions
    )


def checked_result(result: Any, record: type[T], **types: Any) -> T:
    """Return the `result` of a plugin's function, which must be a `record`.

    `types` are the types of its fields.

    Raises:
        TypeError: it is not a `record`, or a field has another type.
    """
    require_sync(result)
    if not isinstance(result, record):
        raise TypeError(f"it returned {result!r:.200} for a {record.__name__}")
    for field, kind in types.items():
        value = getattr(result, field)
        if not isinstance(value, kind):
            needed = f"`{field}` must be of type {getattr(kind, '__name__', kind)}"
            raise TypeError(f"it returned a {record.__name__} whose {needed}, not {value!r:.100}")
    return result
