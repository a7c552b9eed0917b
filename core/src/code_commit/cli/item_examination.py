"""Examine what plugins give for the hooks of other plugins: records that a specification names.

A specification says what it gets with its annotation, such as `Iterable[Context]`, and a record
with those of its fields, such as `Callable[[ContextRequest], Selection]`.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

from code_commit.cli.wire_examination import GENERATOR
from code_commit.plugins.code import fault_of_code


def faults_of_item(specification: Any, item: Any) -> Iterator[str]:
    """Yield what is wrong with an item that a plugin gives for a hook."""
    record = _record_of(specification)
    if record is None:
        return
    if not isinstance(item, record):
        yield f"it must give {record.__name__}s, not {item!r:.100}"
        return
    name = getattr(item, "name", record.__name__)
    if name == "":
        yield f"the name of a {record.__name__} is empty"
    for field in fields(record):
        value = getattr(item, field.name)
        count = _arguments_in(str(field.type))
        if count is None or (value is None and field.default is None):
            continue
        if fault := fault_of_code(value, count):
            yield f"{field.name} of {name} {fault}"
        elif inspect.isgeneratorfunction(value):
            yield f"{field.name} of {name} {GENERATOR}"


def _record_of(specification: Any) -> type[Any] | None:
    """Return the dataclass whose objects a hook gets, or None if its annotation names none."""
    annotation = str(specification.function.__annotations__.get("return", ""))
    name = annotation.partition("[")[2].rstrip("]")
    module = sys.modules[specification.function.__module__]
    record = getattr(module, name, None) or _imported_for_annotations(module, name)
    return record if isinstance(record, type) and is_dataclass(record) else None


def _imported_for_annotations(module: ModuleType, name: str) -> Any:
    """Return what `module` imports as `name` where only type checkers look; None without it."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.ImportFrom):
            source = "." * node.level + (node.module or "")
            for alias in node.names:
                if name in {alias.name, alias.asname}:
                    return getattr(import_module(source, module.__package__), alias.name, None)
    return None


def _arguments_in(annotation: str) -> int | None:
    """Return how many arguments the function of a field takes, or None if it is no function."""
    for node in ast.walk(ast.parse(annotation, mode="eval")):
        match node:
            case ast.Subscript(
                value=ast.Name(id="Callable"),
                slice=ast.Tuple(elts=[ast.List(elts=arguments), _]),
            ):
                return len(arguments)
    return None
