"""A search for keys in all that a run leaves behind, for the tests that send keys where they must not stay."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

import pytest

if TYPE_CHECKING:  # the set `host` does not have it
    from code_commit_testing import Finished, Project

WINDOW = 8  # so many characters of a key in a row count as a leak
# What holds the project's bytes raw, and is never shown; and where the user keeps the key.
_NOT_SEARCHED = ("agent-config/.code-commit/journal", "agent-config/.code-commit/checkpoint.git")


def forms_of(piece: str) -> Iterator[str]:
    """Give what `piece` looks like as it is, in JSON, in URLs, in base64 at each alignment, and in hex."""
    raw = piece.encode()
    yield from (piece, json.dumps(piece)[1:-1], quote(piece, safe=""), quote(piece), quote_plus(piece))
    yield from (raw.hex(), raw.hex().upper())
    for before in range(3):
        first, after = -(-before * 8 // 6), (before + len(raw)) * 8 // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(bytes(before) + raw).decode()[first:after]


def traces_in(content: bytes, key: str) -> list[str]:
    """Return every window of `key`, in whichever form, that stands in `content`."""
    windows = {key[start : start + WINDOW] for start in range(len(key) - WINDOW + 1)}
    forms = {form for window in windows for form in forms_of(window)}
    return sorted(form for form in forms if form.encode() in content)


def everything_written(project: Project, finished: Finished) -> Iterator[tuple[str, bytes]]:
    """Give all that a run showed or left: its streams, and every file in and around the project, names included."""
    yield "stdout", finished.stdout.encode()
    yield "stderr", finished.stderr.encode()
    for path in sorted(project.root.parent.rglob("*")):
        name = path.relative_to(project.root).as_posix() if path.is_relative_to(project.root) else str(path)
        if name.startswith(_NOT_SEARCHED):
            continue
        yield f"the name {name}", name.encode()
        if path.is_file() and not path.is_symlink():
            yield name, path.read_bytes()


Traces = Callable[..., dict[str, list[str]]]


@pytest.fixture
def key_traces() -> Traces:
    """Give a function that searches all that a run left for a key; `kept` are files that hold it on purpose."""

    def search(project: Project, finished: Finished, key: str, *, kept: tuple[str, ...] = ()) -> dict[str, list[str]]:
        return {
            where: traces
            for where, content in everything_written(project, finished)
            if where not in kept and (traces := traces_in(content, key))
        }

    return search


@pytest.fixture(scope="session")
def tls_cases() -> Path:
    """The folder with a certificate that vouches for itself."""
    return Path(__file__).parents[1] / "core/tests/cases/tls"
