"""Count how often the signals of the acceptance checks warn of what people wrote.

    python bench/signals_history.py PATH... [--commits 150] [--show]

Each of the last commits of git repositories that changes code and is no merge counts as one change
set. People meant these commits, so most warnings are false alarms. `builds again` counts the
commits for which the tests of before would run.
"""

from __future__ import annotations

import argparse
import subprocess
from collections import Counter
from pathlib import Path

from code_commit_acceptance.file_change import FileChange
from code_commit_acceptance.signals import find_signals
from code_commit_acceptance.tests_of_before import needs_build

_LINKS = {"120000", "160000"}  # and submodules


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    parser.add_argument("--commits", type=int, default=150)
    parser.add_argument("--show", action="store_true", help="print each warning")
    arguments = parser.parse_args()
    total: Counter[str] = Counter()
    print("| repository | commits | warned of | share | builds again |\n|---|---|---|---|---|")
    for path in arguments.paths:
        counts = count(path, arguments.commits, show=arguments.show)
        total += counts
        print(row(path.name, counts))
    print(row("all", total))


def count(repository: Path, commits: int, *, show: bool) -> Counter[str]:
    """Count the commits with code, those with a warning, and those that are built again."""
    counts: Counter[str] = Counter()
    listing = git(repository, "log", "--no-merges", "--format=%H", f"-{commits}", "HEAD")
    for commit in listing.decode().split():
        changes = changes_of(repository, commit)
        if not any(change.language for change in changes):
            continue
        counts["commits"] += 1
        signals = find_signals(changes)
        warnings = [signal.text for signal in signals if signal.level == "warning"]
        counts["warned"] += bool(warnings)
        counts["again"] += needs_build(changes, is_suspect=bool(warnings))
        if show and warnings:
            print(f"    {commit[:10]}: {'; '.join(warnings)}")
    return counts


def changes_of(repository: Path, commit: str) -> list[FileChange]:
    """Return the changed files of a commit; none for the first one, and where a file is missing."""
    parent = f"{commit}^"
    if not git(repository, "rev-parse", "--quiet", "--verify", parent, check=False):
        return []
    raw = git(repository, "diff-tree", "-r", "-z", "--no-renames", parent, commit)
    fields = raw.decode("utf-8", "surrogateescape").split("\0")
    blobs: dict[str, tuple[str, str]] = {}
    for head, path in zip(fields[::2], fields[1::2], strict=False):
        old_mode, new_mode, old, new, _ = head.removeprefix(":").split(" ")
        if not _LINKS & {old_mode, new_mode}:
            blobs[path] = (old, new)
    contents = read_blobs(repository, {blob for pair in blobs.values() for blob in pair})
    if any(blob not in contents for pair in blobs.values() for blob in pair):
        return []
    return [FileChange(path, contents[old], contents[new]) for path, (old, new) in blobs.items()]


def read_blobs(repository: Path, names: set[str]) -> dict[str, bytes | None]:
    """Return the blobs that are there; the name of zeros is that of no file."""
    none = {name for name in names if not name.strip("0")}
    contents: dict[str, bytes | None] = dict.fromkeys(none)
    wanted = "".join(f"{name}\n" for name in sorted(names - none))
    output = git(repository, "cat-file", "--batch", stdin=wanted.encode())
    while output:
        header, _, output = output.partition(b"\n")
        name, _, size = header.decode().partition(" blob ")
        if size:
            contents[name] = output[: int(size)]
            output = output[int(size) + 1 :]
    return contents


def git(repository: Path, *arguments: str, check: bool = True, stdin: bytes = b"") -> bytes:
    command = ["git", "-C", str(repository), *arguments]
    return subprocess.run(command, check=check, input=stdin, capture_output=True).stdout


def row(name: str, counts: Counter[str]) -> str:
    number = counts["commits"]
    share = counts["warned"] / max(number, 1)
    again = counts["again"] / max(number, 1)
    return f"| {name} | {number:,} | {counts['warned']} | {share:.1%} | {again:.0%} |"


if __name__ == "__main__":
    main()
