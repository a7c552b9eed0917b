"""What the agents changed since their work began, in this run and in earlier ones."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from code_commit.plugin_api import LARGEST_DIFF, FileDiff, ProcessResult, Run, Verdict, WorkDone
from code_commit_planner.dialog.messages import OF_COMMAND, SHARED
from code_commit_planner.plan_folder.folder import FOLDER
from code_commit_planner.plan_folder.temporary import is_temporary
from code_commit_planner.saved_state import load_json, save_json
from code_commit_toolbox.acceptance import accept_work


@dataclass(frozen=True, slots=True)
class Begun:
    """When the work began: a moment of each run that worked. `requirements` is a digest."""

    requirements: str = ""
    moments: tuple[str, ...] = ()


@dataclass(slots=True)
class Work:
    """The work on the requirements in `file`; earlier runs may have begun it."""

    run: Run
    file: str
    _begun: Begun | None = None
    _latest: Changes | None = None

    def begin(self, requirements: str = "") -> Begun:
        """Begin new work, whose requirements have the digest `requirements`."""
        return self._save(Begun(requirements, (self.run.moment(),)))

    def resume(self, requirements: str = "") -> Begun:
        """Continue the work that an earlier run began, or begin it if there is none."""
        if self._begun is not None:
            return self._begun
        begun = load_json(self._state_file, _decode)
        if begun is None or begun.requirements != requirements:
            return self.begin(requirements)
        return self._save(Begun(requirements, (*begun.moments, self.run.moment())))

    def forget(self) -> None:
        """Forget the work: it is done."""
        self._begun = None
        self._latest = None
        self._state_file.unlink(missing_ok=True)

    def changes(self) -> Changes:
        """Return what the agents changed since the work began."""
        begun = self._begun or self.resume()
        self._latest = Changes(self.run, self.run.changes_since(*begun.moments))
        return self._latest

    def latest(self) -> Changes:
        """Return the changes as of the last call of `changes`."""
        return self._latest or self.changes()

    def _save(self, begun: Begun) -> Begun:
        save_json(self._state_file, asdict(begun))
        self._begun = begun
        return begun

    @property
    def _state_file(self) -> Path:
        return Path(self.run.state, f"work-{PurePosixPath(self.file).stem}.json")


class Changes:
    """The files that agents changed, without those of planning and temporary ones.

    `files` are the diffs: first those of files that agents edited, then of those that commands
    changed. A file is `shared` if a person changed it, too. `left` are files that commands left,
    such as the output of a build.
    """

    def __init__(self, run: Run, done: WorkDone) -> None:
        self.run = run
        self._done = done
        self.left = _left_by_commands(run, done)
        shown = frozenset(_shown(run, done)) - self.left
        edited = done.diffs(shown & done.written, most=LARGEST_DIFF)
        by_commands = done.diffs(shown & done.by_commands, most=LARGEST_DIFF)
        self.files: Sequence[FileDiff] = (*edited, *by_commands)
        self.shared = self.paths & done.by_people

    @property
    def paths(self) -> frozenset[str]:
        """The paths of the files."""
        return frozenset(file.path for file in self.files)

    def accept(self, query: str, build: ProcessResult, *, todo: str) -> Verdict | None:
        """Ask the acceptance checks about the files but `todo`, after a green build.

        Return None if there are none.
        """
        return accept_work(self.run, self._done, self.paths - {todo}, query=query, build=build)

    def writers(self) -> dict[str, str]:
        """Return a remark on who wrote each file that the agents changed, "" for the player."""
        done = self._done
        remarks = dict.fromkeys(done.written, "") | dict.fromkeys(done.by_commands, OF_COMMAND)
        return remarks | dict.fromkeys(remarks.keys() & done.by_people, SHARED)


def _shown(run: Run, done: WorkDone) -> Iterator[str]:
    """Yield the changed paths that a model may read, except temporary files."""
    readable = frozenset(run.files())
    for path in done.written | done.by_commands:
        if is_temporary(path) or path.startswith(f"{FOLDER}/"):
            continue
        if path in readable or _is_deleted(run, path):
            yield path


def _left_by_commands(run: Run, done: WorkDone) -> frozenset[str]:
    """Return the files that look like the output of a build, except those that git tracks."""
    left = {path for path in done.by_commands if is_temporary(path, left_by_command=True)}
    if left:
        left.difference_update(os.fsdecode(run.git("ls-files", "-z")).split("\0"))
    return frozenset(left)


def _is_deleted(run: Run, path: str) -> bool:
    return not os.path.lexists(run.root / path) and run.may_read(path) is None


def _decode(fields: Mapping[str, Any]) -> Begun:
    return Begun(
        requirements=str(fields["requirements"]),
        moments=tuple(map(str, fields["moments"])),
    )
