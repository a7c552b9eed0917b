"""Tables of names and numbers in a file of the user, which anything may have written."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from code_commit_workspace.errors import NotReady
from code_commit_workspace.small_file import read_anywhere

_NAME = re.compile(r"[!-~]{1,200}")
_LARGEST_FILE = 4 << 20  # bytes
_MOST = 10_000  # names of a table
_LARGEST = 10**9


def read_tables(path: Path) -> dict[str, dict[str, int]]:
    """Return the tables in a file, as far as they can be used; a file that is broken or missing has none."""
    tables: Any = {}
    with suppress(NotReady, ValueError, RecursionError):
        tables = json.loads(read_anywhere(path, str(path), limit=_LARGEST_FILE) or b"{}")
    return {name: usable_table(table) for name, table in tables.items()} if isinstance(tables, dict) else {}


def write_tables(path: Path, tables: Mapping[str, Mapping[str, int]]) -> None:
    """Replace the tables in a file.

    Raises:
        NotReady: it cannot be written.
    """
    new = path.with_suffix(".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(json.dumps(tables), "utf-8")
        new.replace(path)
    except OSError as error:
        raise NotReady(f"{path} cannot be written: {error.strerror}") from None


def usable_table(table: object) -> dict[str, int]:
    """Return the first entries of `table` whose names are printable ASCII without spaces. Other numbers become 0."""
    entries = islice(table.items(), _MOST) if isinstance(table, Mapping) else ()
    return {
        name: number if type(number) is int and 0 < number < _LARGEST else 0
        for name, number in entries
        if isinstance(name, str) and _NAME.fullmatch(name)
    }
