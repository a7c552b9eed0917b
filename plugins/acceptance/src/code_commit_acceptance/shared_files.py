"""Files of which a part checks the project: tables of TOML and INI, keys of JSON, tests in Rust.

`check_part` returns that part, `with_check_part` puts an earlier one in place of it.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

from code_commit_acceptance.file_change import FileChange
from code_commit_acceptance.languages import language_of, sections_of

_HEADER = re.compile(r"\s*\[\[?(?P<name>[^\]]+)\]\]?\s*(?:[#;].*)?")
_TEST_PART = re.compile(r"#\[cfg\((?:test|all\(\s*test\b.*|any\(\s*test\b.*)\)?\]")
_MOST_DOTS = 200  # in a line: `tomllib` takes quadratic time for the parts of a dotted key


def is_shared(path: str) -> bool:
    """Return whether a part of the file may check the project."""
    language = language_of(path)
    return bool(sections_of(path)) or (language is not None and language.name == "rust")


def check_part(path: str, text: str) -> str:
    """Return the part of a shared file that checks the project."""
    if path.endswith(".json"):
        return json.dumps(_checks_of(path, _json(text)), indent=1)
    blocks = _blocks(path, text)
    return "".join(block for is_check, block in blocks if is_check)


def check_part_change(change: FileChange) -> FileChange:
    """Return the change of the part of a shared file that checks the project."""
    old = check_part(change.path, change.old_text).encode()
    new = check_part(change.path, change.new_text).encode()
    return FileChange(change.path, old, new)


def with_check_part(path: str, text: str, earlier: str) -> str:
    """Return `text` with the check part of an `earlier` text of the file, or `earlier` itself.

    It is `earlier` if the parts cannot be told apart.
    """
    if path.endswith(".json"):
        return _with_keys(path, text, earlier)
    own = "".join(block for is_check, block in _blocks(path, text) if not is_check)
    if own and not own.endswith("\n"):
        own += "\n"
    merged = own + check_part(path, earlier)
    if path.endswith(".toml") and not _has_tables_of(path, merged, text, earlier):
        return earlier
    return merged


def _blocks(path: str, text: str) -> Iterator[tuple[bool, str]]:
    """Yield the parts of a text in their order, each with whether it checks the project."""
    if path.endswith(".rs"):
        return _rust_blocks(text)
    return _tables(path, text)


def _tables(path: str, text: str) -> Iterator[tuple[bool, str]]:
    names = sections_of(path)
    is_check = False
    lines: list[str] = []
    for line in text.splitlines(keepends=True):
        if header := _HEADER.fullmatch(line.rstrip("\r\n")):
            yield is_check, "".join(lines)
            lines = []
            is_check = _is_below(header["name"].strip().replace('"', ""), names)
        lines.append(line)
    yield is_check, "".join(lines)


def _is_below(name: str, names: Sequence[str]) -> bool:
    """Return whether a table is one of `names`, or belongs to one."""
    return any(
        name == beginning or name.startswith((f"{beginning}.", f"{beginning}-"))
        or (beginning.endswith(":") and name.startswith(beginning))
        for beginning in names
    )  # fmt: skip


def _has_tables_of(path: str, merged: str, text: str, earlier: str) -> bool:
    """Return whether a merged TOML has the checks of `earlier`, and the rest of `text`."""
    texts = (merged, text, earlier)
    if any(line.count(".") > _MOST_DOTS for toml in texts for line in toml.splitlines()):
        return False
    names = sections_of(path)
    try:
        checks_and_rest = [_split(tomllib.loads(toml), names) for toml in texts]
        wanted = (checks_and_rest[2][0], checks_and_rest[1][1])
        return checks_and_rest[0] == wanted
    except (tomllib.TOMLDecodeError, RecursionError):
        return False


def _split(
    document: dict[str, Any], names: Sequence[str], prefix: str = ""
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values of the tables `names` and all other values, by their dotted keys."""
    checks: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for key, value in document.items():
        name = f"{prefix}{key}"
        if _is_below(name, names):
            checks[name] = value
        elif isinstance(value, dict):
            more_checks, more_rest = _split(value, names, f"{name}.")
            checks |= more_checks
            rest |= more_rest
        else:
            rest[name] = value
    return checks, rest


def _json(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _checks_of(path: str, document: dict[str, Any]) -> dict[str, Any]:
    """Return the values that check the project, by their dotted keys."""
    names = sections_of(path)
    checks: dict[str, Any] = {}
    for key, value in document.items():
        if key in names:
            checks[key] = value
        elif isinstance(value, dict):
            for inner, text in value.items():
                if f"{key}.{inner}".startswith(tuple(names)):
                    checks[f"{key}.{inner}"] = text
    return checks


def _with_keys(path: str, text: str, earlier: str) -> str:
    document = _json(text)
    before = _checks_of(path, _json(earlier))
    if not document or not before:
        return earlier
    for name in _checks_of(path, document):
        _place(document, name, None)
    for name, value in before.items():
        _place(document, name, value)
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _place(document: dict[str, Any], name: str, value: Any) -> None:
    """Set the value of a dotted key, or remove it if `value` is None."""
    table, dot, key = name.partition(".")
    inner = document
    if dot:
        inner = document.setdefault(table, {})
    if value is None:
        inner.pop(key or table, None)
    else:
        inner[key or table] = value


def _rust_blocks(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the parts of a Rust file.

    An item with `#[cfg(test)]` at the left margin ends with the first line at that margin that ends
    a block or a statement, as rustfmt writes it.
    """
    is_check = False
    lines: list[str] = []
    for line in text.splitlines(keepends=True):
        if not is_check and _TEST_PART.match(line):
            yield is_check, "".join(lines)
            lines = []
            is_check = True
        lines.append(line)
        if is_check and _ends_item(line):
            yield is_check, "".join(lines)
            lines = []
            is_check = False
    yield is_check, "".join(lines)


def _ends_item(line: str) -> bool:
    text = line.rstrip()
    if text.startswith("}"):
        return True
    return not line[:1].isspace() and text.endswith((";", "}"))
