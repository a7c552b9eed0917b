"""Every regular expression of the program takes linear time, whatever the text.

The patterns are found in the source, so that a new one is covered without being named here.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(
    folder
    for parent in ("core/src", "workspace/src", "plugins/*/src")
    for folder in ROOT.glob(f"{parent}/code_commit*")
)
# The place of the flags in the arguments of the functions of `re`.
FUNCTIONS = {
    "compile": 1,
    "search": 2,
    "match": 2,
    "fullmatch": 2,
    "findall": 2,
    "finditer": 2,
    "split": 3,
    "sub": 4,
    "subn": 4,
}
ANCHORED = {"match", "fullmatch"}


class Place(NamedTuple):
    """A pattern, where it is, and the methods that are called on it."""

    name: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]


@cache
def modules() -> Mapping[Path, ast.Module]:
    """Return the source of the program."""
    return {
        path: ast.parse(path.read_text("utf-8"))
        for folder in FOLDERS
        for path in sorted(folder.rglob("*.py"))
    }


@cache
def called_methods() -> Mapping[str, frozenset[str]]:
    """Return the methods of patterns that the program calls on each name."""
    methods: dict[str, set[str]] = defaultdict(set)
    for module in modules().values():
        for node in ast.walk(module):
            if isinstance(node, ast.Attribute) and node.attr in FUNCTIONS:
                match node.value:
                    case ast.Name(id=name) | ast.Attribute(attr=name):
                        methods[name].add(node.attr)
    return {name: frozenset(found) for name, found in methods.items()}


def module_at(path: Path) -> ModuleType:
    """Import the module of a file."""
    folder = next(folder for folder in FOLDERS if path.is_relative_to(folder))
    parts = path.relative_to(folder.parent).with_suffix("").parts
    return importlib.import_module(".".join(parts).removesuffix(".__init__"))


def patterns_in(path: Path) -> Iterator[Place | str]:
    """Yield the patterns of a module, and the places of those that a call builds."""
    calls = [
        (node, FUNCTIONS[node.func.attr])
        for node in ast.walk(modules()[path])
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in FUNCTIONS
    ]
    if not calls:
        return
    module = module_at(path)
    names = {
        id(node.value): node.targets[0].id
        for node in ast.walk(modules()[path])
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for call, flags_at in calls:
        where = f"{path.relative_to(ROOT)}:{call.lineno}"
        flags = [argument.value for argument in call.keywords if argument.arg == "flags"]
        flags += call.args[flags_at : flags_at + 1]
        try:
            pattern, flag = (
                eval(ast.unparse(node), vars(module))
                for node in (call.args[0], flags[0] if flags else ast.Constant(0))
            )
        except (NameError, TypeError):
            yield where
            continue
        methods = frozenset({call.func.attr})
        if methods == {"compile"}:
            methods = called_methods().get(names.get(id(call), ""), frozenset())
        yield Place(where, re.compile(pattern, flag), methods or frozenset({"finditer"}))


if __name__ == "__main__":
    import sys, time
    sys.path.insert(0, str(Path(__file__).parent))
    from conftest import hostile_texts
    def best(run, text, rounds=1):
        b = 9e9
        for _ in range(rounds):
            t = time.process_time(); run(text); b = min(b, time.process_time() - t)
        return b
    def runs(place):
        p = place.pattern
        ms = place.methods
        out = []
        if ms - ANCHORED:
            if ms - ANCHORED == {"search"}:
                out.append(("search", p.search))
            else:
                out.append(("finditer", lambda t: sum(1 for _ in p.finditer(t))))
        for m in ms & ANCHORED:
            out.append((m, getattr(p, m)))
        return out
    n = 0
    t0 = time.process_time()
    total = 0
    for path in modules():
        if len(sys.argv) > 1 and sys.argv[1] not in str(path): continue
        for place in patterns_in(path):
            n += 1
            if isinstance(place, str):
                print("DYNAMIC", place); continue
            texts = hostile_texts(place.pattern)
            total += len(texts)
            bytes_ = isinstance(place.pattern.pattern, bytes)
            worst = None
            for text in texts:
                for name, run in runs(place):
                    for size in (24, 400, 4000):
                        s = text.of_length(size)
                        if bytes_: s = s.encode("latin-1", "replace")
                        b = best(run, s)
                        if b > 0.0004: b = best(run, s, 3)
                        if b > 0.0004:
                            if size == 4000:
                                l = text.of_length(16000)
                                if bytes_: l = l.encode("latin-1", "replace")
                                b2 = best(run, l, 2)
                                if b2 / b > 8 and (worst is None or b2 > worst[0]):
                                    worst = (b2, b, name, text)
                            else:
                                worst = (99, b, name, text, size)
                            break
                if worst and worst[0] == 99: break
            if worst:
                print("SLOW", place.name, place.methods, [round(x, 5) for x in worst[:2]], worst[2:], place.pattern.pattern[:100])
    print(n, total, time.process_time() - t0)
