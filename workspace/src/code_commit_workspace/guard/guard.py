"""The guard: every path rule over every change of a response, and what a model may read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from code_commit_workspace.errors import describe
from code_commit_workspace.git import Git, GitError
from code_commit_workspace.guard.censored import Censor, Censored
from code_commit_workspace.guard.ignored import Ignored
from code_commit_workspace.guard.names import PlainPath, PortableName, normalised, quote
from code_commit_workspace.guard.path_conflicts import PathConflicts
from code_commit_workspace.guard.places import Places
from code_commit_workspace.guard.protected import ProtectedNames
from code_commit_workspace.guard.reading import unreadable
from code_commit_workspace.project_tree import ProjectTree
from code_commit_workspace.records import Change, PathRule, Refusal


class SetRule(Protocol):
    """A built-in rule that judges all changes of a response at once."""

    name: str

    def judge_all(self, changes: Sequence[Change], tree: ProjectTree) -> Iterable[Refusal]:
        """Return a refusal for each change that is not allowed.

        Raises:
            GitError, OSError: no verdict could be had, so that none of `changes` is allowed.
        """
        ...


class Guard:
    """Judges what a response may change in `tree`, and what a model may read there.

    `rules` are those of plugins, each with the distribution that it comes from. They may refuse what the built-in
    rules allow, never the other way round; one that fails refuses. `censor` hides keys from the model that answers.
    """

    def __init__(
        self, tree: ProjectTree, git: Git, rules: Sequence[tuple[str, PathRule]] = (), *, censor: Censor | None = None
    ) -> None:
        self._tree = tree
        self._git = git
        self._plugins = tuple(rules)
        # In this order: nothing but well-formed names reaches the disk, nothing but real places reaches git.
        self._by_name: tuple[PathRule, ...] = (PlainPath(tree.root), ProtectedNames(), PortableName())
        self._by_set: tuple[SetRule, ...] = (PathConflicts(), Places(git), Ignored(git))
        if censor is not None:
            self._by_set += (Censored(censor),)

    @staticmethod
    def normalise(changes: Iterable[Change]) -> tuple[Change, ...]:
        """Return `changes` as they are to be applied: without a leading `./`."""
        return tuple(
            replace(change, path=normalised(change.path)) if change.path.startswith("./") else change
            for change in changes
        )

    def check(self, changes: Sequence[Change]) -> tuple[Refusal, ...]:
        """Let every rule judge every change; empty when all are allowed.

        Of the built-in rules the first that refuses a path speaks; plugins' rules are asked about what is left.
        Refusals name the paths as they were given, in the order of the changes.
        """
        given: dict[str, dict[str, int]] = {}
        for place, change in enumerate(changes):
            given.setdefault(normalised(change.path), {}).setdefault(change.path, place)
        left = self.normalise(changes)
        refusals: list[Refusal] = []
        for rule in self._by_name:
            left = _without(left, (rule.judge(change, self._tree) for change in left), refusals)
        for set_rule in self._by_set:
            left = _without(left, self._all(set_rule, left), refusals) if left else left
        for distribution, plugin in self._plugins:
            refusals += [found for change in left if (found := self._asked(distribution, plugin, change))]
        as_given = [
            (place, replace(refusal, path=path)) for refusal in refusals for path, place in given[refusal.path].items()
        ]
        return tuple(refusal for _, refusal in sorted(as_given, key=lambda pair: pair[0]))

    def may_read(self, path: str) -> Refusal | None:
        """Say why `path` may not be shown to a model, or None. Folders are judged too; what is absent is allowed."""
        return self.unreadable([path]).get(path)

    def unreadable(self, paths: Sequence[str], *, files_only: bool = False) -> dict[str, Refusal]:
        """IntegrityCheck many paths like `may_read`, asking git once; returns those that may not be shown.

        With `files_only`, also those where no regular file stands.
        """
        return unreadable(paths, self._tree, self._git, files_only=files_only)

    def _all(self, rule: SetRule, changes: Sequence[Change]) -> Iterable[Refusal]:
        try:
            return tuple(rule.judge_all(changes, self._tree))
        except (GitError, OSError) as error:
            return tuple(Refusal(change.path, rule.name, f"No verdict could be had: {error}.") for change in changes)

    def _asked(self, distribution: str, rule: PathRule, change: Change) -> Refusal | None:
        try:
            found: object = rule.judge(change, self._tree)  # a plugin's types are a promise, no more
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a plugin raises, it refuses
            problem = f"failed with {quote(describe(error))}"
        else:
            if found is None:
                return None
            if isinstance(found, Refusal):
                return replace(found, path=change.path, then="repair" if found.then == "repair" else "stop")
            problem = f"gave {type(found).__name__} for an answer"
        name = quote(str(getattr(rule, "name", type(rule).__name__)))
        return Refusal(change.path, "plugin", f"The rule {name} of {distribution} {problem}, so nothing is allowed.")


def _without(
    changes: tuple[Change, ...], found: Iterable[Refusal | None], refusals: list[Refusal]
) -> tuple[Change, ...]:
    """Add to `refusals` what was found, and return the changes that it does not concern."""
    new = [refusal for refusal in found if refusal is not None]
    refusals += new
    refused = {refusal.path for refusal in new}
    return tuple(change for change in changes if change.path not in refused) if refused else changes
