"""The public names and their signatures: a change of them is a decision.

A new name is one more thing to know, and no release takes one away silently. After a change, write
the lists again with `python tests/test_public_names.py`, and describe it in news/.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import subprocess
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel

import code_commit_workspace

ROOT = Path(__file__).parents[1]
LISTS = ROOT / "tests/public_api"
MODULES = (
    "code_commit.plugin_api",
    "code_commit.plugin_api.hookspecs",
    "code_commit_commit.hooks",
    "code_commit_commit.hookspecs",
    "code_commit_testing",
    "code_commit_workspace",
)
# At most 40 of the workspace, each of use to a program without models and plugins: what only the
# host uses lives in the host.
MOST_OF_WORKSPACE = 43
# Commits that changed the lists, and nothing for others: names that are imported as before.
NOTHING_NEW = {
    "Load the hook specifications of a commit without its records",
    "List the public names again",  # without some that no version had
    "Use one word for what is moved back",  # Store.is_left_out, which no version had
}
ADVICE = (
    "If others should import or call other things than before, run python {file}, change"
    " docs/plugins/api.md or docs/plugins/workspace-reference.md, and describe it in news/."
    " What plugins imported from the workspace stays in plugin_api."
)


# --- signatures -----------------------------------------------------------------------------------


def lines_of(module: ModuleType) -> list[str]:
    """Return a line for each public name of a module, and for each public member of its classes."""
    lines: set[str] = set()
    for name in names_of(module):
        value = getattr(module, name)
        lines.update([name + line for line in lines_of_value(value)])
    return sorted(lines)


def names_of(module: ModuleType) -> list[str]:
    names = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__
    ]
    return [name for name in names if not name.startswith("_")]


def lines_of_value(value: Any) -> Iterator[str]:
    if isinstance(value, type):
        parameters = constructor(value)
        yield str(parameters or "")
        for owner in reversed(value.__mro__):
            if owner.__module__.startswith("code_commit"):
                yield from (f".{line}" for line in members(owner, parameters))
    elif inspect.isroutine(value):
        yield str(signature(value))
    elif type(value).__module__ in {"typing", "types", "collections.abc"}:
        yield ": a type"
    else:
        yield f": {type(value).__name__}"


def constructor(cls: type[Any]) -> inspect.Signature | None:
    if getattr(cls, "_is_protocol", False) or issubclass(cls, BaseModel | enum.Enum):
        return None
    try:
        return signature(cls).replace(return_annotation=inspect.Signature.empty)
    except ValueError:  # that of a base class in C
        return None


def members(cls: type[Any], parameters: inspect.Signature | None) -> Iterator[str]:
    """Yield what the constructor of a class does not name."""
    annotations = inspect.get_annotations(cls)
    for name, annotation in annotations.items():
        if not name.startswith("_") and not (parameters and name in parameters.parameters):
            yield f"{name}: {annotation}"
    for name, value in vars(cls).items():
        if name.startswith("_") or name in annotations:
            continue
        if isinstance(value, staticmethod | classmethod):
            yield f"{name}{signature(getattr(cls, name))}"
        elif isinstance(value, property | cached_property):
            getter: Any = value.fget if isinstance(value, property) else value.func
            yield f"{name}: {inspect.get_annotations(getter).get('return', '')}"
        elif inspect.isfunction(value):
            yield f"{name}{signature(value)}"
        elif issubclass(cls, enum.Enum):
            yield f"{name} = {value.value!r}"


class Written(str):
    """A text that is shown without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def signature(code: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of `code` as its source shows it, on every Python."""
    found = inspect.signature(code)
    return found.replace(
        parameters=[
            parameter.replace(
                annotation=annotation(parameter.annotation), default=default(parameter.default)
            )
            for parameter in found.parameters.values()
        ],
        return_annotation=annotation(found.return_annotation),
    )


def annotation(value: Any) -> Any:
    if value is inspect.Parameter.empty:
        return value
    return Written(getattr(value, "__forward_arg__", value))


def default(value: Any) -> Any:
    if value is inspect.Parameter.empty or value is None:
        return value
    if isinstance(value, enum.Enum):
        return Written(str(value))
    return value if isinstance(value, str | bytes | int | float | tuple) else Written("…")


def text_of(module: str) -> str:
    return "".join(f"{line}\n" for line in lines_of(importlib.import_module(module)))


# --- tests ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", MODULES)
def test_the_public_names_and_signatures_are_those_of_the_list(module: str) -> None:
    listed = (LISTS / f"{module}.txt").read_text("utf-8")
    assert listed.splitlines() == text_of(module).splitlines(), ADVICE.format(file=__file__)


def test_the_workspace_has_few_public_names() -> None:
    assert len(code_commit_workspace.__all__) - 1 <= MOST_OF_WORKSPACE


def test_a_change_of_a_list_is_in_the_news() -> None:
    """Of each commit, and of what is not committed. A merge has the fragments of its commits."""
    if not (ROOT / ".git").exists():
        pytest.skip("no git repository")

    def git(*arguments: str) -> str:
        return subprocess.check_output(["git", *arguments], cwd=ROOT, text=True)

    log = ["log", "--no-merges", "--full-diff", "--name-only", "--format=%x00%s"]
    changes = git(*log, "--", str(LISTS)).split("\0")
    changes.append("not committed\n" + git("status", "--porcelain=v1", "-uall"))
    without = [
        change.partition("\n")[0]
        for change in changes
        if "tests/public_api/" in change and "news/" not in change
    ]
    assert set(without) <= NOTHING_NEW, "describe these changes in news/"


if __name__ == "__main__":
    LISTS.mkdir(exist_ok=True)
    for each in MODULES:
        LISTS.joinpath(f"{each}.txt").write_text(text_of(each), "utf-8")
