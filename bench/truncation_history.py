"""Count how often the truncation rule refuses what people wrote, by replaying the history of git
repositories.

    python bench/truncation_history.py PATH... [--show]

Each file that a commit added or changed counts as one replacement, and the files of a commit as one
response. People intended what they committed, so each refusal is a false positive. Merges are left
out. PATH may be a bare repository.
"""

from __future__ import annotations

import argparse
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Self, cast

from code_commit.plugin_api import Change, Tree
from code_commit_truncation.rule import Truncation
from code_commit_truncation.settings import TruncationSettings

_LINKS = (b"120000", b"160000")  # modes of symbolic links and submodules


@dataclass(frozen=True, slots=True)
class Replacement:
    """One file of one commit; `old` is None for an added file."""

    commit: str
    path: str
    old: str | None
    new: str


@dataclass(frozen=True, slots=True)
class Before:
    """The tree before a commit, as the rule sees it."""

    files: dict[str, bytes]

    def read(self, path: str) -> bytes | None:
        """Return the content of the file before the commit."""
        return self.files.get(path)


class Blobs:
    """File contents by id, from a single `git cat-file`."""

    def __init__(self, repository: str) -> None:
        self._process = subprocess.Popen(
            ["git", "-C", repository, "cat-file", "--batch"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def read(self, blob: str) -> bytes | None:
        """Return a content, or None if this copy of the repository lacks it."""
        requests, answered = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answered is not None
        requests.write(blob.encode() + b"\n")
        requests.flush()
        head = answered.readline().split()
        if head[1] == b"missing":
            return None
        content = answered.read(int(head[2]))
        answered.read(1)
        return content


def replacements(repository: str) -> Iterator[Replacement]:
    """Yield what each commit wrote, latest first."""
    log = [
        "log",
        "--no-merges",
        "--no-renames",
        "--diff-filter=AM",
        "--raw",
        "-z",
        "--no-abbrev",
        "--format=%x01%H",
    ]
    completed = subprocess.run(["git", "-C", repository, *log], check=True, capture_output=True)
    commit = ""
    fields = iter(completed.stdout.split(b"\0"))
    for field in fields:
        if field.startswith(b"\x01"):
            commit = field[1:].decode()
        elif field.lstrip(b"\n").startswith(b":"):
            _, mode, old, new, status = field.split()
            path = next(fields).decode("utf-8", "replace")
            if mode not in _LINKS:
                yield Replacement(
                    commit, path, None if status == b"A" else old.decode(), new.decode()
                )


def measure(repository: str, *, show: bool) -> tuple[int, Counter[str]]:
    """Return how many replacements were checked, and how many were refused for each reason."""
    judged, refused = 0, Counter[str]()
    with Blobs(repository) as blobs:
        for commit, group in groupby(
            replacements(repository), lambda replacement: replacement.commit
        ):
            before, changes = Before({}), []
            for replacement in group:
                old, new = (
                    replacement.old and blobs.read(replacement.old),
                    blobs.read(replacement.new),
                )
                if new is None or (replacement.old and old is None):
                    continue
                changes.append(Change(replacement.path, new))
                before.files.update({replacement.path: old} if old else {})
            judged += len(changes)
            for refusal in Truncation(TruncationSettings()).judge(changes, cast("Tree", before)):
                kind = "placeholder" if "stands in place of" in refusal.reason else "shrunk"
                refused[kind] += 1
                if show:
                    print(f"  {commit[:10]} {refusal}")
    return judged, refused


def main() -> None:
    """Print one line per repository."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repositories", nargs="+", metavar="PATH")
    parser.add_argument("--show", action="store_true", help="print each refusal")
    arguments = parser.parse_args()
    for repository in arguments.repositories:
        judged, refused = measure(repository, show=arguments.show)
        share = refused.total() / max(1, judged)
        print(
            f"{repository}: {judged} replacements, {refused.total()} sent back ({share:.2%}): "
            f"{refused['shrunk']} shrunk, {refused['placeholder']} placeholders"
        )


if __name__ == "__main__":
    main()
