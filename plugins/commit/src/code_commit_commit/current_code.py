"""The code as it is now, in the form of a rollup: in place of a rollup that is missing or out of date."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from code_commit.plugin_api import NotReady
from code_commit_commit.left_out import exclude_paths
from code_commit_workspace import RolledUp

if TYPE_CHECKING:
    from code_commit.plugin_api import Run

_LARGEST = 16 * 1024 * 1024  # bytes of one file
_BYTES_PER_TOKEN = 4  # the estimate of the services, for English and code


@dataclass(frozen=True, slots=True)
class CurrentCode:
    """The `text` for the model, and what to compare the files with. `str()` gives its size for people."""

    text: str = field(repr=False)
    rolled_up: RolledUp
    files: int

    def __str__(self) -> str:
        files = f"{self.files:,} file{'s' * (self.files != 1)}"
        return f"{files}, about {len(self.text.encode()) // _BYTES_PER_TOKEN:,} tokens"


def collect_current_code(run: Run, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> CurrentCode:
    """Collect the files that `code-commit rollup` would collect with these patterns.

    Raises:
        NotReady: no file matches, or there is no git repository.
    """
    pieces: list[str] = []
    digests: dict[str, str] = {}
    visible = run.files()
    wanted = run.files(include) if include else visible
    for path, content in run.tree.contents(exclude_paths(wanted, exclude)[0], _LARGEST):
        try:
            text = (content or b"").decode()
        except UnicodeDecodeError:
            continue
        if content is None or "\0" in text:
            continue
        pieces += (f"--- {path} ---\n", text, "\n" * (text[-1:] not in {"", "\n"}))
        digests[path] = hashlib.sha256(content).hexdigest()
    if not pieces:
        raise NotReady("there is no code to collect", hint="no file that git tracks here is text")
    others = [path for path in visible if path not in digests]
    return CurrentCode("".join(pieces), RolledUp(run.tree, digests, others), len(digests))
