"""Search for keys in everything that a run writes, for the tests that send keys where they must not
stay.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

import pytest

if TYPE_CHECKING:  # the test set `host` does not have it
    from code_commit_testing import Finished, Project, ScriptedServer

KEY_VARIABLES = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
WINDOW = 8  # this many consecutive characters of a key count as a leak
# These contain unchanged files of the project and are never shown.
_NOT_SEARCHED = ("agent-config/.code-commit/journal", "agent-config/.code-commit/store.git")


def forms_of(piece: str) -> Iterator[str]:
    """Yield `piece` unchanged, and as in JSON, in URLs, in base64 at each alignment, and in hex."""
    raw = piece.encode()
    yield from (
        piece,
        json.dumps(piece)[1:-1],
        quote(piece, safe=""),
        quote(piece),
        quote_plus(piece),
    )
    yield from (raw.hex(), raw.hex().upper())
    for before in range(3):
        first, after = -(-before * 8 // 6), (before + len(raw)) * 8 // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(bytes(before) + raw).decode()[first:after]


@cache
def forms_of_windows(key: str) -> frozenset[bytes]:
    """Return every window of `key`, in any form."""
    windows = {key[start : start + WINDOW] for start in range(len(key) - WINDOW + 1)}
    return frozenset(form.encode() for window in windows for form in forms_of(window))


@lru_cache(10_000)  # most files of a project are those of the one before
def traces_in(content: bytes, key: str) -> list[str]:
    """Return every window of `key`, in any form, that `content` has, also in lines and groups."""
    in_lines = re.sub(rb"\\+[nrt]|[\s\0]", b"", content)
    digits = re.sub(rb"[^0-9a-f]", b"", content.lower())
    content = b"\n".join((content, in_lines, digits))
    return sorted(form.decode() for form in forms_of_windows(key) if form in content)


def everything_written(project: Project, finished: Finished) -> Iterator[tuple[str, bytes]]:
    """Yield everything that a run printed or wrote: its streams, and all files in and around the
    project with names.
    """
    yield "stdout", finished.stdout.encode()
    yield "stderr", finished.stderr.encode()
    for path in sorted(project.root.parent.rglob("*")):
        name = str(path)
        if path.is_relative_to(project.root):
            name = path.relative_to(project.root).as_posix()
        if name.startswith(_NOT_SEARCHED):
            continue
        yield f"the name {name}", name.encode()
        if path.is_file() and not path.is_symlink():
            yield name, path.read_bytes()


Traces = Callable[..., dict[str, list[str]]]


@pytest.fixture
def key_traces() -> Traces:
    """Return a function that searches everything a run wrote for a key, except the files `kept`."""

    def search(
        project: Project, finished: Finished, key: str, *, kept: tuple[str, ...] = ()
    ) -> dict[str, list[str]]:
        return {
            where: traces
            for where, content in everything_written(project, finished)
            if where not in kept and (traces := traces_in(content, key))
        }

    return search


@pytest.fixture
def run(project: Project, key_traces: Traces) -> Callable[..., Finished]:
    """Return a function that runs the command with a key for each provider, and checks that no
    output contains one.
    """

    def run(
        key: str,
        *arguments: str,
        server: ScriptedServer | None = None,
        kept: tuple[str, ...] = (),
        **options: Any,
    ) -> Finished:
        variables = dict.fromkeys(KEY_VARIABLES, key) | (server.environment() if server else {})
        environ = {**variables, "CODE_COMMIT_HTTP__RETRIES": "0", **options.pop("environ", {})}
        finished = project.command(*arguments, environ=environ, **options)
        assert key_traces(project, finished, key, kept=kept) == {}
        return finished

    return run
