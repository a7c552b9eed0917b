"""Remember index entries that others staged before planning, so that no run loses or commits them."""

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

    `before` are the paths that were staged when the player began; None means not recorded. `ours`
    are the paths that planning has staged or is about to stage. `foreign` entries were staged
    before that; those in `set_aside` are out of the index during a commit. `contents` are digests
    of the files at `before` when the player began, which show what the player changed; `overlooked`
    are digests of the files whose changes git was told to overlook. `summary` and `description`
    belong to the recorded commit, which ends the work on the file `requirements`.
    """

    head: str | None = None
    ours: tuple[str, ...] = ()
    foreign: tuple[IndexEntry, ...] = ()
    set_aside: tuple[IndexEntry, ...] = ()
    before: tuple[str, ...] | None = None
    contents: tuple[tuple[str, str], ...] = ()
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
        overlooked=_pairs(fields.get("overlooked", ())),
        summary=fields["summary"],
        description=tuple(fields["description"]),
        requirements=fields.get("requirements", ""),
    )


def _pairs(rows: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((path, digest) for path, digest in rows)


def read_index_changes(listing: str) -> list[IndexEntry]:
    """Read `git diff --cached --raw -z --no-renames --no-abbrev`: rows of `:modes ids status` and
    path.
    """
    fields = listing.split("\0")
    entries = []
    for row, path in zip(fields[::2], fields[1::2], strict=False):
        old_mode, mode, old_id, new_id, _ = row.removeprefix(":").split(" ")
        entries.append(IndexEntry(path, old_mode, old_id, mode, new_id))
    return entries
