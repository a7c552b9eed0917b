"""Every regular expression of the program takes linear time, whatever the text.

The patterns are found in the source, so that a new one is covered without being named here.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {
    folder.name: folder
    for parent in ("core/src", "workspace/src", "plugins/*/src")
    for folder in sorted(ROOT.glob(f"{parent}/code_commit*"))
}
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
_FIELDS = "."
# Calls whose pattern is an argument of the function around them: the values that it takes. Those
# of None have a fixed text, or a class of characters, and nothing that repeats.
BUILT: Mapping[str, Callable[[ModuleType], Iterator[re.Pattern[Any]]] | None] = {
    "code_commit.plugin_api.tokens:_weight": lambda module: map(
        re.compile, [*module._PIECES, *module._NOT_ASCII]
    ),
    "code_commit_commit.build_scripts.folder:mentions": lambda _: mentioned(),
    "code_commit_commit.build_scripts.own_commands:_families": lambda module: map(
        re.compile, module._TOOLS.values()
    ),
    "code_commit_commit.build_scripts.pipelines:tests": lambda module: map(
        re.compile, module._TESTS.values()
    ),
    "code_commit_acceptance.languages:_language": lambda module: patterns_of(
        [module._language(name) for name in module._data() if name != "any"]
    ),
    "code_commit_commit.seen_files:_has_lines": None,
    "code_commit_commit.targets:_form": None,  # behind @cache
    "code_commit_consistency.headings:_pattern": None,
    "code_commit_workspace.guard.protected:__init__": None,
    "code_commit_workspace.words:_unsafe": None,
}
# The longest text that a caller passes on, where a pattern is linear only up to there.
LONGEST = {
    "code_commit_commit.targets._forms": 300,
    "code_commit_commit.targets._NAME": 300,
    "code_commit_commit.targets._ALONE": 300,
}


class Place(NamedTuple):
    """A pattern, where it is, and how the program calls it."""

    name: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]


@pytest.mark.parametrize("package", PACKAGES)
def test_patterns_are_linear(
    package: str,
    hostile_texts: Callable[[re.Pattern[Any]], set[Any]],
    slow_text: Callable[..., str],
) -> None:
    slow = [
        f"{place.name} {method} {place.pattern.pattern!r}: {fault}"
        for path in sorted(PACKAGES[package].rglob("*.py"))
        for place in patterns_in(path)
        for method in one_of_each_kind(place.methods)
        if (
            fault := slow_text(
                call(place.pattern, method), hostile_texts(place.pattern), LONGEST.get(place.name)
            )
        )
    ]
    assert not slow, "\n".join(slow)


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"\bexcept\b.*\b(?:AssertionError|BaseException)\b", "search"),
        (r"\#\[(?:cfg_attr\(.*)?ignore\b", "search"),
        (r"\b\w*assert\w*!", "search"),
        (r"\s+$", "search"),
        (r"(?:a|a)*b", "match"),
        (r"x(?=\s*\w*\s*;)", "match"),
        (rb"[^\n]*\n+[ \t]*[|]", "findall"),
    ],
)
def test_slow_patterns_are_found(
    pattern: str | bytes,
    method: str,
    hostile_texts: Callable[[re.Pattern[Any]], set[Any]],
    slow_text: Callable[..., str],
) -> None:
    compiled: re.Pattern[Any] = re.compile(pattern)
    assert slow_text(call(compiled, method), hostile_texts(compiled))


def test_patterns_of_all_kinds_are_collected() -> None:
    patterns = {
        str(place.pattern.pattern): place.methods
        for package in ("code_commit_acceptance", "code_commit_commit", "code_commit_truncation")
        for path in sorted(PACKAGES[package].rglob("*.py"))
        for place in patterns_in(path)
    }
    assert any("AssertionError" in source for source in patterns), "of languages.toml"
    assert any("fail_under" in source for source in patterns), "an argument"
    assert any("tests passed" in source for source in patterns), "in a tuple"
    assert any("(?P<bare>" in source for source in patterns), "behind @cache"
    assert frozenset({"fullmatch"}) in patterns.values()


def call(pattern: re.Pattern[Any], method: str) -> Callable[[str], object]:
    """Return a function that calls the method of a pattern with a text."""
    run = getattr(pattern, method)
    if isinstance(pattern.pattern, bytes):
        return lambda text: run(text.encode("latin-1", "replace"))
    return run  # type: ignore[no-any-return]


def one_of_each_kind(methods: frozenset[str]) -> Iterator[str]:
    """Yield the methods to call: those that search on after a match take the same time."""
    yield from methods & {"match", "fullmatch", "search"}
    if methods - {"match", "fullmatch", "search"}:
        yield "findall"


@cache
def module_at(path: Path) -> ModuleType:
    package = next(folder for folder in PACKAGES.values() if path.is_relative_to(folder))
    parts = path.relative_to(package.parent).with_suffix("").parts
    return importlib.import_module(".".join(parts).removesuffix(".__init__"))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def patterns_in(path: Path) -> Iterator[Place]:
    """Yield the patterns that a module compiles or uses."""
    calls = list(_calls_of_re(tree_of(path)))
    if not calls:
        return
    module = module_at(path)
    seen = set()
    for name, value in vars(module).items():
        for pattern in patterns_of(value):
            seen.add(pattern)
            yield Place(f"{module.__name__}.{name}", pattern, _methods(path, name))
    for function, node in calls:
        method = node.func.attr  # type: ignore[attr-defined]
        name = f"{module.__name__}:{function}"
        for pattern in _evaluated(module, name, node):
            if pattern not in seen:
                methods = {"findall"} if method == "compile" else {method}
                yield Place(f"{name}:{node.lineno}", pattern, frozenset(methods))


def _calls_of_re(tree: ast.AST, function: str = "") -> Iterator[tuple[str, ast.Call]]:
    """Yield the calls of functions of `re`, with the name of the function around them."""
    for node in ast.iter_child_nodes(tree):
        inner = node.name if isinstance(node, ast.FunctionDef) else function
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=attribute)) if (
                attribute in FUNCTIONS
            ):
                yield inner, node
        yield from _calls_of_re(node, inner)


def _evaluated(module: ModuleType, name: str, node: ast.Call) -> Iterator[re.Pattern[Any]]:
    """Yield the patterns of a call: of its literal, or of all values that it takes."""
    flags_at = FUNCTIONS[node.func.attr]  # type: ignore[attr-defined]
    flags = [keyword.value for keyword in node.keywords if keyword.arg == "flags"]
    flags += node.args[flags_at : flags_at + 1]
    try:
        source = _value(node.args[0], module)
    except NameError:
        if name in BUILT:
            build = BUILT[name]
            yield from build(module) if build else ()
            return
        if not name.endswith(":"):
            raise AssertionError(f"{name} builds a pattern: list what it takes in BUILT") from None
        return  # in a comprehension of the module, whose variables are searched
    yield re.compile(source, _value(flags[0], module) if flags else 0)


def _value(expression: ast.expr, module: ModuleType) -> Any:
    return eval(ast.unparse(expression), vars(module))  # noqa: S307 - of our own source


def mentioned() -> Iterator[re.Pattern[Any]]:
    """Yield what recipes of build scripts search in files."""
    for path in sorted(PACKAGES["code_commit_commit"].joinpath("build_scripts").glob("*.py")):
        for node in ast.walk(tree_of(path)):
            match node:
                case ast.Call(func=ast.Attribute(attr="mentions"), args=[expression, *_]):
                    source = _value(expression, module_at(path))
                    yield re.compile(source, re.MULTILINE)


def patterns_of(value: object) -> Iterator[re.Pattern[Any]]:
    """Yield the patterns in a variable of a module, also behind `@cache`."""
    if isinstance(value, re.Pattern):
        yield value
    elif hasattr(value, "cache_info") and not inspect.signature(value).parameters:
        yield from patterns_of(value())  # type: ignore[operator]
    elif isinstance(value, Mapping):
        yield from patterns_of(list(value.values()))
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from patterns_of(item)
    elif not isinstance(value, type) and hasattr(type(value), "__dataclass_fields__"):
        yield from patterns_of([getattr(value, name) for name in value.__dataclass_fields__])  # type: ignore[attr-defined]


def _methods(path: Path, name: str) -> frozenset[str]:
    """Return the methods that the modules with a pattern call on its name, or on its field."""
    methods = set()
    for other, named in _called().items():
        if other == path or name in _imported(other):
            methods |= named.get(name, set())
    return frozenset(methods or _called()[path].get(_FIELDS, {"findall"}))


@cache
def _called() -> Mapping[Path, Mapping[str, set[str]]]:
    """Return the methods of patterns that each module calls, by the name before the dot."""
    called: dict[Path, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for folder in PACKAGES.values():
        for path in folder.rglob("*.py"):
            for node in ast.walk(tree_of(path)):
                match node:
                    case ast.Attribute(value=ast.Name(id=name), attr=method) if method in FUNCTIONS:
                        called[path][name].add(method)
                    case ast.Attribute(value=ast.Attribute(), attr=method) if method in FUNCTIONS:
                        called[path][_FIELDS].add(method)
    return called


@cache
def _imported(path: Path) -> frozenset[str]:
    return frozenset(
        alias.name
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    )
