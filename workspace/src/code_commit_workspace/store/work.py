"""What runs changed since moments of theirs, apart from what people changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from code_commit_workspace.errors import NotReady
from code_commit_workspace.store.log import Change, Link, links_of
from code_commit_workspace.store.run_changes import RunChanges, are_interrupted
from code_commit_workspace.store.store import FileDiff, Store


class Work(NamedTuple):
    """The files that differ from what they were before runs wrote them.

    `written` are those that responses wrote, `by_commands` those that only commands of a model
    wrote. `by_people` are files that people changed meanwhile, also some of the others.
    """

    written: frozenset[str]
    by_commands: frozenset[str]
    by_people: frozenset[str]
    changes: Mapping[str, Change]
    store: Store

    def diffs(self, paths: Collection[str], *, most: int) -> Sequence[FileDiff]:
        """Return the diffs of those `paths` that the runs changed, sorted.

        Texts are left out where the diffs have more than `most` bytes together.
        """
        chosen = {path: self.changes[path] for path in paths if path in self.changes}
        return self.store.diffs(chosen, most=most)

    def originals(self, paths: Collection[str]) -> Mapping[str, bytes | None]:
        """Return those `paths` that the runs changed as they were before.

        None is where no file was.
        """
        states = {path: self.changes[path].before for path in paths if path in self.changes}
        versions = self.store.versions(states.values())
        originals: dict[str, bytes | None] = {}
        for path, state in states.items():
            version = versions[state]
            originals[path] = version and version.content
        return originals


def work_since(store: Store, moments: Sequence[str], latest: RunChanges) -> Work:
    """Return what runs changed, each since a result of `RunChanges.moment`, in this order.

    `latest` is the last of the runs. Damaged moments, and those of runs whose logs are gone, are
    skipped.

    Raises:
        NotReady: all of them are gone.
    """
    links: dict[str, list[Link]] = defaultdict(list)
    by_people: set[str] = set()
    found = False
    for text in moments:
        run, _, number = text.rpartition(":")
        log = latest.log if run == latest.log.run else store.logs.of(run)
        if log is None or not number.isdecimal():
            continue
        found = True
        since = int(number)
        for path, of_path in links_of(log.entries, since=since).items():
            links[path] += of_path
        for entry in log.entries[since:]:
            if entry.by == "person":
                by_people.update(entry.left)
    if not found:
        raise NotReady("the logs of the work are gone")
    for path, of_path in links.items():
        if are_interrupted(of_path):
            by_people.add(path)
    changes = latest.net_of(links)
    written = {path for path in changes if any(link.by == "response" for link in links[path])}
    return Work(
        written=frozenset(written),
        by_commands=frozenset(changes.keys() - written),
        by_people=frozenset(by_people),
        changes=changes,
        store=store,
    )
