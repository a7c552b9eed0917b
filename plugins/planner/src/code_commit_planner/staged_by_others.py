"""What was in the index before planning staged anything, kept across runs: it is neither lost nor committed."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_FILE = "staging.json"


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A path in the index, with what the last commit has in its place. A mode of zeros: nothing."""

    path: str
    old_mode: str
    old_id: str
    mode: str
    id: str

    @property
    def staged_line(self) -> str:
        """What puts it into the index, for `git update-index --index-info`."""
        return f"{self.mode} {self.id}\t{self.path}\0"

    @property
    def committed_line(self) -> str:
        """What takes it out of the index again."""
        return f"{self.old_mode} {self.old_id}\t{self.path}\0"


@dataclass(frozen=True, slots=True)
class Staging:
    """What is known about the index, as of the commit `head`.

    `before` are the paths that were staged when the player began; None: nobody has looked. `ours` are those that
    planning has staged, or is about to; `foreign` is what was staged before that, `set_aside` what of it is out of the
    index while a commit is made. `summary` and `description` are of the commit that was begun, by which the file
    `requirements` is completed.
    """

    head: str | None = None
    ours: tuple[str, ...] = ()
    foreign: tuple[IndexEntry, ...] = ()
    set_aside: tuple[IndexEntry, ...] = ()
    before: tuple[str, ...] | None = None
    summary: str = ""
    description: tuple[str, ...] = ()
    requirements: str = ""

    def save(self, state: Path) -> None:
        """Keep it in the folder `state`, in one step."""
        target, fresh = state / _FILE, state / f"{_FILE}.new"
        with fresh.open("w", encoding="utf-8", errors="surrogateescape") as file:
            json.dump(asdict(self), file)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(target)


def read_staging(state: Path) -> Staging:
    """Return what an earlier run kept; an empty one where there is none that can be read."""
    try:
        data: dict[str, Any] = json.loads((state / _FILE).read_text("utf-8"))
        return Staging(
            data["head"],
            tuple(data["ours"]),
            tuple(IndexEntry(**row) for row in data["foreign"]),
            tuple(IndexEntry(**row) for row in data["set_aside"]),
            None if data.get("before") is None else tuple(data["before"]),
            data["summary"],
            tuple(data["description"]),
            data.get("requirements", ""),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return Staging()


def read_index_changes(listing: str) -> list[IndexEntry]:
    """Read `git diff-index --cached --raw -z --no-renames --abbrev=40`: rows of `:modes ids status` and path."""
    fields = listing.split("\0")
    entries = []
    for row, path in zip(fields[::2], fields[1::2], strict=False):
        old_mode, mode, old_id, new_id, _ = row.removeprefix(":").split(" ")
        entries.append(IndexEntry(path, old_mode, old_id, mode, new_id))
    return entries
