"""Measure how many of the files that commits changed a context chooses, for the subject of each.

    python bench/context_recall.py CLONES [--cases FILE] [--commits N]

CLONES is a folder with git repositories, which may be bare. A line of FILE is a JSON object: the
`repository` (a path below CLONES, or its last part), the `parent` of a commit, a `query`, and the
paths that the commit `changed`. Without FILE, N commits of each repository are drawn: their query
is the subject without the names of the changed files. The files are those of the parent.

For each budget of tokens, two figures: the mean share of the changed files that the context
`ranked` shows whole, and the share that it shows whole or names in the map. `beside` is the share
of the other changed files among the 20 best related ones, after the first one was edited.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from statistics import mean
from typing import Any, Self, cast

from code_commit_commit.hooks import ContextRequest, Project
from code_commit_commit.left_out import exclude_paths
from code_commit_context import ranked
from code_commit_context.kinds import is_code
from code_commit_context.ranking import rank
from code_commit_context.related import related_files

_BUDGETS = (8_000, 32_000, 100_000, 200_000)
_LARGE = 4_000_000  # bytes of a repository: about a million tokens
_BESIDE = 20  # files
_MOST_FILES = 10  # of a commit that is drawn
_DEPTH = 3  # folders: `owner/name/.git`
_LINK, _FILE = "120000", "blob"


@dataclass(frozen=True, slots=True)
class Case:
    """One commit of a repository."""

    repository: str
    parent: str
    query: str
    changed: Sequence[str]


@dataclass(slots=True)
class Row:
    """The figures of the cases of one repository, or of several."""

    whole: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    named: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    beside: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)  # bytes

    def add(self, other: Row) -> None:
        """Add the cases of another row."""
        for tokens in other.whole:
            self.whole[tokens] += other.whole[tokens]
            self.named[tokens] += other.named[tokens]
        self.beside += other.beside
        self.sizes += other.sizes

    def __str__(self) -> str:
        pairs = [
            f"{mean(self.whole[tokens]):.2f} / {mean(self.named[tokens]):.2f}"
            for tokens in _BUDGETS
        ]
        beside = f"{mean(self.beside):.2f}" if self.beside else "-"
        return f"{len(self.sizes):4}  " + "  ".join([*pairs, beside])


class PastProject:
    """A project as it was at one commit, from the objects of a repository."""

    def __init__(self, repository: Path, commit: str) -> None:
        self._repository = repository
        self._commit = commit
        self._ids: dict[str, str] = {}
        for row in git(repository, "ls-tree", "-r", "-z", commit).split("\0")[:-1]:
            head, _, path = row.partition("\t")
            mode, kind, blob = head.split()
            if kind == _FILE and mode != _LINK and path.isprintable():
                self._ids[path] = blob
        self.paths = exclude_paths(sorted(self._ids), ())[0]
        self.tree = self

    def __enter__(self) -> Self:
        command = ["git", "-C", str(self._repository), "cat-file", "--batch"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def contents(self, paths: Sequence[str], limit: int) -> Iterator[tuple[str, bytes | None]]:
        """Yield each path with its content, or None if it is larger than `limit` or missing."""
        for path in paths:
            content = self.read(path)
            yield path, None if content is None or len(content) > limit else content

    def read(self, path: str, limit: int | None = None) -> bytes | None:
        """Return the beginning of a file, or None if this copy of the repository lacks it."""
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        requests.write(f"{self._ids[path]}\n".encode())
        requests.flush()
        head = answers.readline().split()
        if head[1] == b"missing":
            return None
        content = answers.read(int(head[2]))
        answers.read(1)
        return content[:limit]

    def git(self, *args: str, check: bool = True, most: int | None = None) -> bytes:
        """Run git as if the commit were the current one."""
        del most
        known = [self._commit if argument == "HEAD" else argument for argument in args]
        command = ["git", "-C", str(self._repository), *known]
        return subprocess.run(command, capture_output=True, check=check).stdout


def git(repository: Path, *args: str) -> str:
    """Run git, and return its output."""
    command = ["git", "-C", str(repository), *args]
    output = subprocess.run(command, check=True, capture_output=True).stdout
    return output.decode("utf-8", "replace")


def read_cases(file: Path) -> Iterator[Case]:
    """Yield the cases of a file."""
    for line in file.read_text("utf-8").splitlines():
        row = json.loads(line)
        yield Case(row["repository"], row["parent"], row["query"], row["changed"])


def draw_cases(repository: Path, name: str, count: int) -> Iterator[Case]:
    """Yield `count` commits that changed at most ten files with code, in an order of chance."""
    drawn = list(_commits(repository, name))
    random.Random(7).shuffle(drawn)
    yield from drawn[:count]


def _commits(repository: Path, name: str) -> Iterator[Case]:
    log = ["log", "-z", "--no-renames", "--no-merges", "--name-status", "--format=%x00%P%x00%s"]
    fields = iter(git(repository, *log).split("\0"))
    next(fields)
    for parents in fields:
        subject = re.sub(r"\(#\d+\)", "", next(fields, ""))
        rows = [row.strip() for row in iter(lambda: next(fields, ""), "")]
        changes = zip(rows[::2], rows[1::2], strict=False)
        changed = [path for status, path in changes if status in {"M", "D"} and is_code(path)]
        for path in changed:
            subject = subject.replace(path, "").replace(path.rpartition("/")[2], "")
        is_plain = 1 <= len(changed) <= _MOST_FILES and len(parents.split()) == 1
        if is_plain and len(re.findall(r"[A-Za-z]{3,}", subject)) > 2:
            yield Case(name, parents, subject.strip(), changed)


def measure(repository: Path, cases: Iterable[Case]) -> Row:
    """Return the figures of the cases of one repository."""
    row = Row()
    for case in cases:
        with PastProject(repository, case.parent) as project:
            changed = set(case.changed) & set(project.paths)
            if changed:
                _measure(project, case.query, changed, row)
    return row


def _measure(project: PastProject, query: str, changed: Collection[str], row: Row) -> None:
    """Add the figures of one case to `row`."""
    request = ContextRequest(
        project=cast("Project", project), query=query, paths=project.paths, tokens=0
    )
    ranking = rank(request)
    row.sizes.append(sum(ranking.sizes.values()))
    for tokens in _BUDGETS:
        selection = ranked.choose(replace(request, tokens=tokens), ranking)
        row.whole[tokens].append(_share(changed, selection.paths))
        row.named[tokens].append(_share(changed, {*selection.paths, *selection.map}))
    edited, *others = sorted(changed)
    if others:
        best = related_files(ranking, "", [edited])[:_BESIDE]
        row.beside.append(_share(others, best))


def _share(wanted: Collection[str], found: Collection[str]) -> float:
    return len(set(wanted) & set(found)) / len(wanted)


def _repositories(folder: Path) -> Mapping[str, Path]:
    """Return the git repositories below a folder, by their path without `.git`."""
    found = {}
    heads = [head for depth in range(1, _DEPTH + 1) for head in folder.glob("*/" * depth + "HEAD")]
    for head in sorted(heads):
        repository = head.parent
        if (repository / "objects").is_dir():
            top = repository.parent if repository.name == ".git" else repository
            found[str(top.relative_to(folder)).removesuffix(".git")] = top
    return found


def _find(repositories: Mapping[str, Path], name: str) -> Path | None:
    """Return the repository `owner/name`, which may be in a folder with another owner or none."""
    last = name.rpartition("/")[2]
    for path in (name, last):
        if path in repositories:
            return repositories[path]
    return None


def _print(title: str, row: Row) -> None:
    if row.sizes:
        print(f"{title:28} {row}", flush=True)


def main() -> None:
    """Print a line for each repository, one for the large ones, and one for all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("clones", type=Path, metavar="CLONES")
    parser.add_argument("--cases", type=Path, metavar="FILE", help="draw none, read these")
    parser.add_argument("--commits", type=int, default=20, metavar="N", help="of each repository")
    arguments = parser.parse_args()
    repositories = _repositories(arguments.clones)
    cases: dict[str, Any] = {}
    if arguments.cases:
        for name, group in groupby(read_cases(arguments.cases), lambda case: case.repository):
            cases[name] = list(group)[: arguments.commits]
    else:
        for name, path in repositories.items():
            cases[name] = list(draw_cases(path, name, arguments.commits))
    print(" " * 28, "cases", *(f"{tokens:>11,}" for tokens in _BUDGETS), " beside", sep=" ")
    every, large = Row(), Row()
    for name, group in cases.items():
        repository = _find(repositories, name)
        if repository is None:
            print(f"{name}: not found")
            continue
        row = measure(repository, group)
        _print(name, row)
        every.add(row)
        if row.sizes and mean(row.sizes) > _LARGE:
            large.add(row)
    _print("large repositories", large)
    _print("all", every)


if __name__ == "__main__":
    main()
