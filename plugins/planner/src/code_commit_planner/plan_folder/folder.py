"""The folder `g3-plan` of a codebase and its files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from code_commit.plugin_api import Change, NotReady, Run
from code_commit_planner.plan_folder.history import Completed, completed_at, is_recorded, reworded

FOLDER = "g3-plan"
HISTORY = f"{FOLDER}/planner_history.txt"
NEW = f"{FOLDER}/new_requirements.md"
CURRENT = f"{FOLDER}/current_requirements.md"
TODO = f"{FOLDER}/todo.g3.md"
_LIMIT = 10 * 1024 * 1024
_ONE_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class PlanFolder:
    """The files of `g3-plan`, read and changed through the run, under its path rules."""

    run: Run

    def require_allowed(self) -> None:
        """Check that the folder can be used.

        Raises:
            NotReady: git ignores it, a link is in the way, or another rule forbids writing its
                files.
        """
        example = Completed(datetime(2000, 1, 1))  # noqa: DTZ001 - a name in local time
        paths = (HISTORY, NEW, CURRENT, TODO, f"{FOLDER}/{example.requirements}")
        changes = [Change(path, self._content(path)) for path in paths]
        refusals = self.run.check(changes)
        if refusals:
            raise NotReady(
                f"planning cannot work in {FOLDER}: {refusals[0]}",
                hint="remove what the rule refuses",
            )

    def _content(self, path: str) -> bytes:
        """Return the current content of a file: a rule may refuse an empty one."""
        try:
            return self.run.tree.read(path) or b""
        except OSError:
            return b""

    def create(self) -> None:
        """Create the folder with an empty history, if it is missing."""
        if self.read(HISTORY) is None:
            self.run.apply([Change(HISTORY, b"")])

    def read(self, path: str) -> bytes | None:
        """Return a file's content, or None when it does not exist.

        Raises:
            NotReady: it cannot be read, or is too large.
        """
        try:
            content = self.run.tree.read(path, _LIMIT + 1)
        except OSError as error:
            raise NotReady(f"{path} cannot be read: {error.strerror or error}") from error
        if content is not None and len(content) > _LIMIT:
            raise NotReady(f"{path} is larger than {_LIMIT} bytes")
        return content

    def text(self, path: str) -> str | None:
        """Return a file as text, invalid UTF-8 replaced, or None when it does not exist."""
        content = self.read(path)
        if content is None:
            return None
        return content.decode("utf-8", "replace")

    def utf8(self, path: str) -> str | None:
        """Return a file as text, or None when it does not exist.

        Raises:
            NotReady: it is not UTF-8.
        """
        content = self.read(path)
        if content is None:
            return None
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            reason = f"{path} is not UTF-8, in line {line}"
            raise NotReady(reason, hint="save it as UTF-8") from None

    def history(self) -> str:
        """Return the history as text."""
        return self.text(HISTORY) or ""

    def is_recorded(self, completion: Completed) -> bool:
        """Return whether the history records the completion."""
        return is_recorded(self.history(), completion)

    def changed_at(self, path: str) -> datetime:
        """Return when a file was last modified."""
        seconds = os.lstat(self.run.root / path).st_mtime
        when = datetime.fromtimestamp(seconds)  # noqa: DTZ006 - local time, as people read it
        return when.replace(microsecond=0)

    def record(self, *lines: str, changes: Sequence[Change] = ()) -> None:
        """Add lines to the history, after `changes` in the same transaction."""
        self.run.apply([*changes, self._history_with(*lines)])

    def start(self, *lines: str) -> None:
        """Make the new requirements the current ones, and add `lines` to the history.

        Raises:
            NotReady: there are none, or there are current ones already.
        """
        content = self.read(NEW)
        if content is None:
            raise NotReady(f"there is no {NEW} any more")
        if self.read(CURRENT) is not None:
            raise NotReady(f"{CURRENT} already exists", hint="start again to resume it")
        self.record(*lines, changes=_move(NEW, CURRENT, content))

    def complete(
        self, when: datetime, *, line: Callable[[Completed], str] | None = None
    ) -> Completed:
        """Rename the current requirements and todos to their completed names.

        With `line`, add that line to the history in the same transaction.

        Raises:
            NotReady: there are no current requirements.
        """
        requirements = self.read(CURRENT)
        if requirements is None:
            raise NotReady(f"there is no {CURRENT} any more")
        todo = self.read(TODO)
        completion = Completed(when, with_todo=todo is not None)
        history = self.history()  # it may contain this second, from before a `reopen`
        while completion.requirements in history or self._has_any(completion.files):
            completion = replace(completion, when=completion.when + _ONE_SECOND)
        changes = _move(CURRENT, f"{FOLDER}/{completion.requirements}", requirements)
        if todo is not None:
            changes += _move(TODO, f"{FOLDER}/{completion.todo}", todo)
        if line is not None:
            changes.append(self._history_with(line(completion)))
        self.run.apply(changes)
        return completion

    def reopen(self, completion: Completed, line: str) -> str:
        """Make completed requirements and todos current again, and add `line` to the history.

        Return the requirements.

        Raises:
            NotReady: they are gone, or there are current ones.
        """
        content = self.read(f"{FOLDER}/{completion.requirements}")
        if content is None:
            raise NotReady(f"there is no {completion.requirements} any more", hint="start again")
        if self.read(CURRENT) is not None:
            raise NotReady(f"{CURRENT} already exists", hint="start again")
        changes = _move(f"{FOLDER}/{completion.requirements}", CURRENT, content)
        if (todo := self.read(f"{FOLDER}/{completion.todo}")) is not None:
            changes += _move(f"{FOLDER}/{completion.todo}", TODO, todo)
        self.run.apply([*changes, self._history_with(line)])
        return content.decode("utf-8", "replace")

    def reword(self, summary: str) -> None:
        """Put `summary` into the history's line about a commit that was recorded but not made."""
        before = self.history()
        after = reworded(before, summary)
        if after != before:
            self.run.apply([Change(HISTORY, after.encode())])

    def unrecorded(self) -> Completed | None:
        """Return the latest completion on disk that the history lacks, or None."""
        history = self.history()
        try:
            names = frozenset(entry.name for entry in Path(self.run.root, FOLDER).iterdir())
        except OSError as error:
            raise NotReady(f"{FOLDER} cannot be read: {error.strerror}") from error
        times = [when for name in names if (when := completed_at(name)) is not None]
        for when in sorted(times, reverse=True):
            completion = Completed(when, with_todo=Completed(when).todo in names)
            if not is_recorded(history, completion):
                return completion
        return None

    def _has_any(self, names: Sequence[str]) -> bool:
        return any(self.read(f"{FOLDER}/{name}") is not None for name in names)

    def _history_with(self, *lines: str) -> Change:
        before = self.read(HISTORY) or b""
        between = b"" if not before or before.endswith(b"\n") else b"\n"
        return Change(HISTORY, before + between + "".join(lines).encode())


def _move(source: str, target: str, content: bytes) -> list[Change]:
    return [Change(target, content), Change(source, None)]
