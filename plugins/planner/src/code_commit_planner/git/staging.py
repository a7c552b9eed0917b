"""Save what is staged, and by whom, so that no run loses or commits what others staged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from code_commit_planner.saved_state import load_json, save_json

_FILE = "staging.json"


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A path in the index, with its state in the last commit. A mode of zeros means absent."""

    path: str
    old_mode: str
    old_id: str
    mode: str
    id: str

    @property
    def staged_line(self) -> str:
        """Return the line for `git update-index --index-info` that stages it."""
        return f"{self.mode} {self.id}\t{self.path}\0"

    @property
    def committed_line(self) -> str:
        """Return the line that restores the committed state in the index."""
        return f"{self.old_mode} {self.old_id}\t{self.path}\0"


@dataclass(frozen=True, slots=True)
class Staging:
    """The recorded state of the index, at the commit `head`.

    Attributes:
        ours: the paths that planning has staged or is about to stage.
        foreign: the entries that were staged before that.
        set_aside: those of them that are out of the index during a commit.
        before: the paths that were staged when the player began; None means not recorded.
        contents: digests of those files at that time, which show what the player changed.
        earlier: those of `ours` that earlier work left staged.
        dirty: the paths that had uncommitted changes when the player began.
        overlooked: digests of the files whose changes git was told to overlook.
        summary, description: the message of the recorded commit.
        requirements: the file whose work that commit ends.
    """

    head: str | None = None
    ours: tuple[str, ...] = ()
    foreign: tuple[IndexEntry, ...] = ()
    set_aside: tuple[IndexEntry, ...] = ()
    before: tuple[str, ...] | None = None
    contents: tuple[tuple[str, str], ...] = ()
    earlier: tuple[str, ...] = ()
    dirty: tuple[str, ...] = ()
    overlooked: tuple[tuple[str, str], ...] = ()
    summary: str = ""
    description: tuple[str, ...] = ()
    requirements: str = ""

    def save(self, state: Path) -> None:
        """Save it in the folder `state` atomically."""
        save_json(state / _FILE, asdict(self))


def read_staging(state: Path) -> Staging:
    """Return the state that an earlier run saved, or an empty one if none is readable."""
    return load_json(state / _FILE, _decode) or Staging()


def _decode(fields: Mapping[str, Any]) -> Staging:
    before = fields.get("before")
    return Staging(
        head=fields["head"],
        ours=tuple(fields["ours"]),
        foreign=tuple(IndexEntry(**row) for row in fields["foreign"]),
        set_aside=tuple(IndexEntry(**row) for row in fields["set_aside"]),
        before=None if before is None else tuple(before),
        contents=_pairs(fields.get("contents", ())),
        earlier=tuple(fields.get("earlier", ())),
        dirty=tuple(fields.get("dirty", ())),
        overlooked=_pairs(fields.get("overlooked", ())),
        summary=fields["summary"],
        description=tuple(fields["description"]),
        requirements=fields.get("requirements", ""),
    )


def _pairs(rows: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((path, digest) for path, digest in rows)


def read_index_changes(listing: str) -> list[IndexEntry]:
    """Read the rows of `git diff --cached --raw -z --no-renames --no-abbrev`.

    A row is `:modes ids status` and the path.
    """
    fields = listing.split("\0")
    entries = []
    for row, path in zip(fields[::2], fields[1::2], strict=False):
        old_mode, mode, old_id, new_id, _ = row.removeprefix(":").split(" ")
        entries.append(IndexEntry(path, old_mode, old_id, mode, new_id))
    return entries
