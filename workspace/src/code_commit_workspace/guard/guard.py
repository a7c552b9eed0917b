"""Ask every path rule about the changes of a response, and decide what a model may read."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TYPE_CHECKING

from code_commit_workspace.errors import Interrupted
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.git import Git, GitError
from code_commit_workspace.guard.amount import MOST_FILES, too_many
from code_commit_workspace.guard.ignored import Ignored
from code_commit_workspace.guard.names import PlainPath, PortableName, quote
from code_commit_workspace.guard.path_conflicts import PathConflicts
from code_commit_workspace.guard.places import Places
from code_commit_workspace.guard.protected import ProtectedNames
from code_commit_workspace.guard.unsaved import UnsavedFiles
from code_commit_workspace.records import Change, PathRule, Protected, Refusal
from code_commit_workspace.stop import STOP
from code_commit_workspace.words import describe, traceback_of

if TYPE_CHECKING:
    from code_commit_workspace.keys.redaction import Redactor

# git reads these at any depth, so they are always protected.
_GIT_NAMES = (
    Protected(".gitignore", anywhere=True),
    Protected(".git", "anything in the .git folder", anywhere=True, readable=False),
)

_MARK = b"***"  # begins the mark of every key


class Guard:
    """Decides what a response may change in `tree`, and what a model may read there.

    `protected` are the names that no response may change, besides git's own. `redactor` hides keys
    from the model. `is_too_large` says, by path and size, which files the store does not keep.
    `max_files` is the largest number of files in one change set.
    """

    def __init__(
        self,
        tree: ProjectTree,
        git: Git,
        protected: Iterable[Protected],
        *,
        redactor: Redactor | None = None,
        is_too_large: Callable[[str, int], bool] = lambda _path, _size: False,
        max_files: int = MOST_FILES,
    ) -> None:
        self._tree = tree
        self._git = git
        protected = (*_GIT_NAMES, *protected)
        self._closed = ProtectedNames([entry for entry in protected if not entry.readable])
        # In this order: only well-formed names reach the disk, and only real places reach git.
        self._rules: tuple[PathRule, ...] = (
            PlainPath(tree.root),
            ProtectedNames(protected),
            PortableName(),
            PathConflicts(tree),
            Places(tree, git),
            Ignored(git),
            UnsavedFiles(is_too_large),
        )
        self._redactor = redactor
        self._max_files = max_files
        self.traces: list[str] = []  # of exceptions from the rules of plugins
        self.visible = VisibleTree(tree, self.files)

    def check(
        self, changes: Sequence[Change], rules: Sequence[tuple[str, PathRule]] = ()
    ) -> tuple[Refusal, ...]:
        """Ask every rule about `changes` and return the refusals; none if all are allowed.

        The first built-in rule that refuses a path decides. The `rules` of plugins, each with its
        distribution, check the remaining changes: they may refuse what the built-in rules allow,
        never the other way round. Refusals name the paths as the response spells them, in the order
        of the changes; refusals of the whole change set come first. A change set that is too large
        is refused before any rule sees it.
        """
        if refusal_of_amount := too_many(changes, self._max_files):
            return (refusal_of_amount,)
        refusals, remaining = self._ask_built_in_rules(changes)
        of_change_set: list[Refusal] = []
        if remaining:
            for plugin, rule in rules:
                for refusal in self._plugin(plugin, rule, remaining):
                    if refusal.path:
                        refusals.append(refusal)
                    else:
                        of_change_set.append(refusal)
        return (*of_change_set, *_as_spelled(refusals, changes))

    def _ask_built_in_rules(
        self, changes: Sequence[Change]
    ) -> tuple[list[Refusal], tuple[Change, ...]]:
        """Return the refusals of the built-in rules, and the changes that none of them refuses."""
        refusals: list[Refusal] = []
        remaining = tuple(changes)
        for rule in (*self._rules, *self._rules_about_marks(remaining)):
            STOP.check()
            if not remaining:
                break
            refusals_of_rule = self._built_in(rule, remaining)
            if refusals_of_rule:
                refusals += refusals_of_rule
                refused = {refusal.path for refusal in refusals_of_rule}
                remaining = tuple(change for change in remaining if change.path not in refused)
        return refusals, remaining

    def may_read(self, path: str) -> Refusal | None:
        """Return the refusal if a model may not see `path`, else None.

        The path may be a folder, or not exist.
        """
        return self.unreadable([path]).get(path)

    def unreadable(self, paths: Sequence[str], *, files_only: bool = False) -> dict[str, Refusal]:
        """Return those of `paths` that a model may not see, with the reasons. This calls git once.

        With `files_only`, also return paths that are not regular files.
        """
        from code_commit_workspace.guard.reading import unreadable

        return unreadable(paths, self._tree, self._git, self._closed, files_only=files_only)

    def files(self, patterns: Sequence[str] = (), *, recursive: bool = True) -> tuple[str, ...]:
        """Return the regular files that git does not ignore and that a model may see, sorted.

        Files that git tracks are among them. Links and files in submodules are left out.
        `reading.matching` describes the syntax of `patterns`.

        Raises:
            NotReady: the root is not in a git repository, or git cannot list its files.
            ValueError: a pattern is malformed.
        """
        files, _ = self.select(patterns, recursive=recursive, among=self._git.list_files())
        return files

    def select(
        self,
        patterns: Sequence[str],
        *,
        recursive: bool = True,
        among: AbstractSet[str],
    ) -> tuple[tuple[str, ...], dict[str, Refusal]]:
        """Return the `files` in a result of `Git.list_files`.

        Also return why each other path that matches `patterns` is left out.
        """
        from code_commit_workspace.guard.reading import matching

        matches = sorted(matching(among, patterns, recursive=recursive))
        refusals = self.unreadable(matches, files_only=True)
        return tuple(path for path in matches if path not in refusals), refusals

    def _rules_about_marks(self, changes: Sequence[Change]) -> tuple[PathRule, ...]:
        """Return the rule for responses that contain the mark of a redacted key; few do."""
        if self._redactor is None:
            return ()
        if not any(change.content and _MARK in change.content for change in changes):
            return ()
        from code_commit_workspace.guard.redacted import RedactedText

        return (RedactedText(self._redactor),)

    def _built_in(self, rule: PathRule, changes: Sequence[Change]) -> list[Refusal]:
        try:
            return list(rule.judge(changes, self.visible))
        except (GitError, OSError) as error:
            return [
                Refusal(change.path, rule.name, f"This check failed: {error}.")
                for change in changes
            ]

    def _plugin(self, plugin: str, rule: PathRule, changes: Sequence[Change]) -> list[Refusal]:
        """Ask the rule of a plugin.

        An error or a result of a wrong type refuses the whole change set.
        """
        rule_name = getattr(rule, "name", type(rule).__name__)
        name = quote(str(rule_name))
        try:
            answer = rule.judge(changes, self.visible)
            paths = {change.path for change in changes}
            return list(checked_refusals(answer, paths, plugin))
        except (KeyboardInterrupt, Interrupted):
            raise
        except WrongAnswer as error:
            problem = str(error)
        except BaseException as error:  # noqa: BLE001 - a plugin may raise anything
            self.traces.append(traceback_of(error))
            problem = f"failed with {quote(describe(error, with_hint=True))}"
        reason = f"The rule {name} of {plugin} {problem}, so nothing is allowed."
        return [Refusal("", "plugin", reason, plugin=plugin)]


def _as_spelled(refusals: Sequence[Refusal], changes: Sequence[Change]) -> Iterator[Refusal]:
    """Yield each refusal for every spelling of its path, in the order of `changes`."""
    spellings: dict[str, dict[str, int]] = {}  # by path: the first place of each spelling
    for place, change in enumerate(changes):
        spellings.setdefault(change.path, {}).setdefault(change.given, place)
    placed = [
        (place, replace(refusal, path=spelling))
        for refusal in refusals
        for spelling, place in spellings[refusal.path].items()
    ]
    for _, refusal in sorted(placed, key=lambda pair: pair[0]):
        yield refusal


class VisibleTree:
    """The project as path rules see it; `files` is `Guard.files`."""

    def __init__(self, tree: ProjectTree, files: Callable[..., tuple[str, ...]]) -> None:
        self._tree = tree
        self._files = files

    def read(self, path: str, limit: int | None = None, *, start: int = 0) -> bytes | None:
        """Return the content of the regular file at `path` from `start`; None if there is none."""
        return self._tree.read(path, limit, start=start)

    def size(self, path: str) -> int:
        """Return the bytes of the regular file at `path`; 0 if there is none."""
        return self._tree.size(path)

    def mode(self, path: str) -> int | None:
        """Return the permission bits of the regular file at `path`, or None if there is none."""
        status = self._tree.lstat(path)
        if status is None or not stat.S_ISREG(status.st_mode):
            return None
        return status.st_mode & 0o777

    def contents(self, paths: Sequence[str], limit: int) -> Iterator[tuple[str, bytes | None]]:
        """Yield each path with its content.

        The content is None unless the path is a regular file of at most `limit` bytes.
        """
        return self._tree.contents(paths, limit)

    def list(self, patterns: Sequence[str] = (), *, recursive: bool = True) -> tuple[str, ...]:
        """Return the files that git tracks or does not ignore and that a model may see, sorted."""
        return self._files(patterns, recursive=recursive)


class WrongAnswer(Exception):  # noqa: N818 - names a kind of answer
    """A rule of a plugin returned a result of a wrong type."""


def checked_refusals(answer: object, paths: AbstractSet[str], plugin: str) -> Iterator[Refusal]:
    """Yield the refusals that a rule of `plugin` returned for changes of `paths`.

    Raises:
        WrongAnswer: it returned something else.
    """
    if not isinstance(answer, Iterable) or isinstance(answer, str | bytes):
        raise WrongAnswer(f"returned {type(answer).__name__}")
    for refusal in answer:
        if not isinstance(refusal, Refusal):
            raise WrongAnswer(f"returned {type(refusal).__name__} as a refusal")
        texts = (refusal.path, refusal.rule, refusal.reason, refusal.hint)
        if not all(isinstance(text, str) for text in texts):
            raise WrongAnswer("returned a refusal whose fields are not text")
        if not refusal.rule:
            raise WrongAnswer("returned a refusal with an empty `rule`")
        if not refusal.reason.strip():
            raise WrongAnswer("returned a refusal with an empty `reason`")
        # `in` a set would need a hash, which a wrong value may not have.
        if not any(refusal.then == action for action in ("stop", "repair", "warn")):
            then = quote(str(refusal.then))
            raise WrongAnswer(
                f"returned a refusal whose `then` is {then}, not 'stop', 'repair' or 'warn'"
            )
        if refusal.path and refusal.path not in paths:
            raise WrongAnswer(f"refused {quote(refusal.path)}, which is not among the changes")
        yield replace(refusal, plugin=plugin)
