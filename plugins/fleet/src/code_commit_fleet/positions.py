"""Find the line of each key in a TOML file, for errors, because `tomllib` does not report lines."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator

Path = tuple[str | int, ...]

_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?(?:"{3,5}|\Z)'
    r"|'''.*?(?:'{3,5}|\Z)"
    r'|"(?:\\.|[^"\\\n])*+"?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*|[\[\]{}=\n]"
    r"""|[^"'#\[\]{}=\n]+""",
    re.DOTALL,
)


def lines_of_keys(text: str) -> dict[Path, int]:
    """Return the line of each key and table header of `text`, which is valid TOML.

    A table in an array has its index in the path: `("repository", 0, "url")`.
    """
    lines: dict[Path, int] = {(): 1}
    counts: Counter[Path] = Counter()
    table: Path = ()
    for line, statement in _statements(text):
        if statement.startswith("[["):
            name = _key(statement.strip("[]"))
            table = (*name, counts[name])
            counts[name] += 1
            lines.setdefault(name, line)
        elif statement.startswith("["):
            table = _key(statement.strip("[]"))
        else:
            lines[*table, *_key(statement)] = line
            continue
        lines[table] = line
    return lines


def line_of(path: Path, lines: dict[Path, int]) -> int:
    """Return the line of `path`, or of the nearest table around it."""
    while path not in lines:
        path = path[:-1]
    return lines[path]


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each header; of each `key = value`, the line and the key."""
    line = 1
    start = 1  # of the statement
    depth = 0  # of brackets
    statement = ""
    in_value = False
    for part in _TOKEN.findall(text + "\n"):
        if part == "\n" and depth == 0:
            if statement.strip():
                yield start, statement.strip()
            statement = ""
            in_value = False
        elif part in {"[", "{", "]", "}"}:
            depth += 1 if part in "[{" else -1
            if not in_value:
                statement += part
        elif part == "=" and depth == 0:
            in_value = True
        elif not in_value and not part.startswith("#"):
            if not statement.strip():
                start = line
            statement += part
        if part == "[" and statement == "[":
            start = line
        line += part.count("\n")


def _key(text: str) -> Path:
    """Return the parts of a dotted key."""
    parts: list[str | int] = []
    table: object = tomllib.loads(f"{text.strip()} = 0")
    while isinstance(table, dict):
        name, table = next(iter(table.items()))
        parts.append(name)
    return tuple(parts)
