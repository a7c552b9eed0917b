"""What the model knows about each file, so that no response replaces or deletes a file blind."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from typing import TYPE_CHECKING

from code_commit.plugin_api import RolledUp
from code_commit_commit.rollup_text import LARGEST

if TYPE_CHECKING:
    from code_commit.plugin_api import Run, Tree

HEADER = re.compile(r"^--- ([^\n\0]+) ---\n", re.MULTILINE)
_NOT_NAMES = frozenset({"", ".", ".."})
_LONG = 80  # characters: a text of this length does not stand in a rollup by chance
_OLDER = ""  # instead of a digest: a version that the model has not seen


class SeenFiles:
    """The version of each file that the model knows, through all attempts of a run.

    The model knows the files in the rollup, what its responses wrote and deleted, and what a
    refusal showed to it. In a rollup made by hand, a file is known if its text stands there. Unless
    `compared`, no file counts as changed; `created` are files that appeared since the rollup.
    """

    def __init__(
        self,
        run: Run,
        codebase: str,
        rolled_up: RolledUp,
        *,
        compared: bool = True,
        created: Iterable[str] = (),
    ) -> None:
        self._run, self._codebase = run, codebase
        self._compared = compared
        self._returned: dict[str, str] = {}  # the texts for the next prompt
        self._others = rolled_up.others  # there from the start, and not shown
        self._by_hand = rolled_up.others is None
        # None is a file that the model knows to be gone.
        self._digests: dict[str, str | None] = dict.fromkeys(created, _OLDER)
        self._digests |= _standing(codebase, run.tree) if self._by_hand else rolled_up.digests

    def copy(self) -> SeenFiles:
        """Return the same for another model that was shown the same."""
        seen = copy(self)
        seen.take(self)
        return seen

    def take(self, other: SeenFiles) -> None:
        """Take what `other` knows, which is a copy."""
        self._others = other._others
        self._returned = dict(other._returned)
        self._digests = dict(other._digests)

    def bases(self, paths: Iterable[str]) -> tuple[dict[str, bytes | None], list[str]]:
        """Return the content of each of `paths` as the model saw it, None where it saw no file.

        Also return the paths that changed since, and whose content of then is not known.
        """
        bases: dict[str, bytes | None] = {}
        stale: list[str] = []
        for path in paths:
            if not (self._compared and self._knows_of(path)):
                continue
            content = self._read(path)
            seen = self._digests.get(path)
            if seen == (None if content is None else digest(content)):
                bases[path] = content
                continue
            versions = self._run.versions(path) if seen else iter(())
            matching = (old for old in versions if old is not None and digest(old) == seen)
            if (version := next(matching, None)) is None:
                stale.append(path)
            else:
                bases[path] = version
        return bases, stale

    def _knows_of(self, path: str) -> bool:
        """Return whether the model knows the file, or that there is none."""
        return path in self._digests or (self._others is not None and path not in self._others)

    def unseen(self, paths: Iterable[str]) -> list[str]:
        """Return those of `paths` whose content the model has not seen, in their order."""
        return [path for path in paths if path not in self._digests and self._has_unseen_text(path)]

    def see(self, path: str, content: bytes | None) -> None:
        """Note that the model knows `content`, None if the file is gone."""
        self._digests[path] = None if content is None else digest(content)
        self._returned.pop(path, None)

    def show(self, texts: Mapping[str, bytes]) -> None:
        """Note that the next prompts have these files, until a response changes them."""
        for path, content in texts.items():
            which = "as it is now" if path in self._digests else "which is not in the codebase"
            self._returned[path] = _returned(path, content.decode(), which)
            self._digests[path] = digest(content)

    def knows(self, path: str) -> bool:
        """Return whether the model knows the text of a file as it is."""
        content = self._read(path)
        return content is not None and self._digests.get(path) == digest(content)

    def learn(self, texts: Mapping[str, bytes]) -> None:
        """Note that the codebase of the next prompts has these files, too."""
        self._digests |= {path: digest(content) for path, content in texts.items()}

    def forget(self, paths: Iterable[str]) -> None:
        """Note that the codebase of the next prompts does not have these files any more."""
        for path in paths:
            self._digests.pop(path, None)  # of a file that a build changed, there is none
            if self._others is not None:
                self._others |= {path}

    @property
    def returned(self) -> str:
        """The files that came back to the model, for the next prompt."""
        return "\n".join(text for _, text in sorted(self._returned.items()))

    def _has_unseen_text(self, path: str) -> bool:
        try:
            content = self._run.tree.read(path)
        except (OSError, ValueError):
            return False  # the path rules refuse it
        if not content:
            return False
        return not (self._by_hand and self._stands_in_codebase(content))

    def _stands_in_codebase(self, content: bytes) -> bool:
        """Return whether the rollup has the text of a file, as it is or as the log shows it."""
        try:
            text = content.decode("utf-8-sig").strip("\r\n")
        except UnicodeDecodeError:
            return False
        unix = text.replace("\r\n", "\n")
        forms = dict.fromkeys((text, unix, self._run.redacted(text), self._run.redacted(unix)))
        return any(_has_lines(self._codebase, form) for form in forms)

    def _read(self, path: str) -> bytes | None:
        try:
            return self._run.tree.read(path)
        except (OSError, ValueError):
            return None


def digest(content: bytes) -> str:
    """Return the digest of a file, as `RolledUp.digests` has it."""
    return hashlib.sha256(content).hexdigest()


def _returned(path: str, text: str, which: str) -> str:
    ended = text if text.endswith("\n") else f"{text}\n"
    return f"The text of {path}, {which}:\n\n--- {path} ---\n{ended}"


def _has_lines(text: str, lines: str) -> bool:
    """Return whether `lines` stand in `text`: as whole lines, if they are short."""
    if len(lines) >= _LONG:
        return lines in text
    return re.search(rf"^{re.escape(lines)}\r?$", text, re.MULTILINE) is not None


def _standing(codebase: str, tree: Tree) -> dict[str, str]:
    """Return the digests of files whose current text follows a line `--- path ---`.

    Replays have no manifest.
    """
    return dict(_standing_files(codebase, tree))


def _standing_files(codebase: str, tree: Tree) -> Iterator[tuple[str, str]]:
    headers = HEADER.finditer(codebase)
    starts = {
        header[1]: header.end() for header in headers if _NOT_NAMES.isdisjoint(header[1].split("/"))
    }
    for path, content in tree.contents(sorted(starts), LARGEST):
        if content is None:
            continue
        if codebase.startswith(content.decode("utf-8", "replace"), starts[path]):
            yield path, digest(content)
