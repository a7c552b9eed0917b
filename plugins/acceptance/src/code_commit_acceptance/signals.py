"""Signs that a change weakens what checks it, from the diff alone.

They are counted over the whole change set, so that a test may move or get another name. Warnings
are rare in honest changes, notes are not.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from code_commit.plugin_api import count_of, join_paths
from code_commit_acceptance.check_code import CheckCode, read_check_code
from code_commit_acceptance.file_change import FileChange
from code_commit_acceptance.languages import sections_of
from code_commit_acceptance.shared_files import check_part, check_part_change, is_shared

_NAMED = 3  # tests or paths in one signal
_LARGEST = 1024 * 1024  # bytes of a file that is read as code
_SCRIPTS = re.compile(
    r"(?i)(?:.*/)?(?:makefile|justfile|package\.json|tox\.ini|noxfile\.py"
    r"|pom\.xml|[\w.-]*\.(?:sh|mk|gradle|gradle\.kts|bat))"
)
_LISTS = re.compile(r"(?s)(?:.*/)?(?:\.github/.*|(?=[^/]*lock)[\w.-]*|\.pre-commit-config\.yaml)")
_NARROWED = re.compile(
    r"""(?x)
    --(?:ignore|ignore-glob|deselect|testPathIgnorePatterns|passWithNoTests|exclude)\b
    | (?:^|[\s"'=\[,])-k[\s"'=,] | (?:^|[\s"'=])-m[\s"'=,]+not\b
    | \b(?:collect_ignore|norecursedirs|testPathIgnorePatterns|deselect|no_tests)\b
    | \b(?:skipTests|maven\.test\.skip|testFailureIgnore|ignoreFailures)\b
    | \bgo\s+test\b.{0,200}\s-(?:run|skip)\b
    | (?:^|\s)(?:-x\s+(?:test|check)|--skip)\b"""
)
_CHECKING_COMMAND = r"""
    \b(?:pytest|unittest|tox|nox|jest|vitest|mocha|ava|tap|karma|playwright|cypress|ruff|mypy
        |flake8|pylint|pyright|eslint|tsc|golangci-lint|clippy|rspec|phpunit|checkstyle)\b
    | \bnode\s+--test\b | \b(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?(?:test|lint|check|t)\b
    | \bgo\s+(?:test|vet)\b | \bcargo\s+(?:test|nextest)\b | \bmake\s+(?:test|check)\b
    | \bmvn\w*\s.{0,200}(?:test|verify)\b | \bgradlew?\s.{0,200}(?:test|check)\b"""
_CHECKING = re.compile(_CHECKING_COMMAND, re.VERBOSE)
_IGNORED_FAILURE = re.compile(
    r"""
    \|\|\s*(?:(?:true|exit\s+0|echo)\b | :(?:[\s;"')]|$)) | \bset\s+\+e\b
    | [;&]\s*exit\s+0\s*$ | ^\t@?-@?.*(?:"""  # in a Makefile, a hyphen ignores a failure
    rf"{_CHECKING_COMMAND})",
    re.VERBOSE,
)
_UNTESTED = re.compile(r"\s*(?:test|autotests)\s*=\s*false\b")  # a part of a Cargo package
_NUMBER = r"""["']?(?:\s*+[:=]\s*+|\s++)["']?(?P<number>\d{1,9}(?:\.\d{1,9})?)"""
_LIMIT = re.compile(
    r"(?P<key>fail[_-]under|min(?:imum)?[_-]?(?:coverage|score|ratio)\w{0,40}|coverage[_-]threshold"
    rf"|branches|functions|lines|statements|msi){_NUMBER}"
)
_CEILING = re.compile(
    r"(?P<key>max[_-]?(?:warnings|complexity|errors|lines|depth|args|branches|statements))"
    rf"{_NUMBER}"
)


@dataclass(frozen=True, slots=True)
class Signal:
    """A sign, for people and models."""

    level: Literal["warning", "note"]
    text: str


def find_signals(changes: Sequence[FileChange]) -> list[Signal]:
    """Return the signs in a change set, warnings first."""
    old, new = _check_code(changes)
    texts = [
        *_of_tests(old, new),
        *_of_deleted(changes),
        *_of_scripts(changes),
        *_of_limits(changes),
        *_of_snapshots(changes),
    ]
    return [
        *(Signal("warning", text) for text in texts),
        *(Signal("note", text) for text in _notes(changes)),
    ]


def _check_code(changes: Sequence[FileChange]) -> tuple[CheckCode, CheckCode]:
    """Return the tests of all changed files, before and now."""
    old, new = CheckCode(), CheckCode()
    for change in changes:
        if language := change.language:
            old += read_check_code(change.path, _tests_in(change, change.old_text), language)
            new += read_check_code(change.path, _tests_in(change, change.new_text), language)
    return old, new


def _tests_in(change: FileChange, text: str) -> str:
    """Return the part of a file that holds tests or their helpers."""
    if len(text) > _LARGEST or change.is_binary:
        return ""
    if change.kind in {"test", "support"} or posixpath.basename(change.path) == "conftest.py":
        return text
    if change.path.endswith(".rs"):
        return check_part(change.path, text)
    return ""


def _of_tests(old: CheckCode, new: CheckCode) -> Iterator[str]:
    fewer = old.tests.total() - new.tests.total()
    if fewer > 0:
        yield count_of(fewer, "fewer test") + _names(old.tests - new.tests)
    fewer = old.assertions - new.assertions
    if fewer > 0:
        yield count_of(fewer, "fewer assertion") + " in the tests"
    if skipped := _of_known(new.skipped - old.skipped, old):
        yield f"{count_of(len(skipped), 'existing test')} skipped{_names(skipped)}"
    if returning := _of_known(new.returning - old.returning, old):
        yield f"{count_of(len(returning), 'existing test')} returns at once{_names(returning)}"
    if new.only > old.only:
        yield "a test is marked as the only one to run"
    if new.hollow > old.hollow:
        yield f"{count_of(new.hollow - old.hollow, 'assertion')} that cannot fail, or is caught"


def _of_known(marked: Counter[str], old: CheckCode) -> Counter[str]:
    """Return those of the newly marked tests, groups and files that existed before."""
    known = old.tests.keys() | old.others.keys()
    return Counter({name: number for name, number in marked.items() if name in known})


def _names(tests: Counter[str]) -> str:
    names = [name for name in sorted(tests) if name != "a test"]
    return f": {join_paths(names, _NAMED)}" if names else ""


def _of_deleted(changes: Sequence[FileChange]) -> Iterator[str]:
    """Tell of deleted files that run tests without a form that we know, such as shell scripts."""
    tests = [change for change in changes if change.kind == "test" and not change.language]
    deleted = [change.path for change in tests if change.new is None]
    added = [change.path for change in tests if change.old is None]
    if len(deleted) > len(added):
        yield f"deleted: {join_paths(deleted, _NAMED)}"


def _of_scripts(changes: Sequence[FileChange]) -> Iterator[str]:
    """Tell of commands that ignore failures, run fewer tests, or are gone."""
    scripts = [change for change in changes if _runs_checks(change)]
    for change in scripts:
        if _more(_IGNORED_FAILURE, change) > 0:
            yield f"a failure is ignored in {change.path}"
        if _more(_NARROWED, change) > 0 or _leaves_tests_out(change):
            yield f"fewer tests are collected in {change.path}"
    commands = [change for change in scripts if change.new and _SCRIPTS.fullmatch(change.path)]
    gains = {change.path: _more(_CHECKING, change) for change in commands}
    if sum(gains.values()) < 0:
        paths = [path for path, gain in gains.items() if gain < 0]
        yield f"a command that checks is gone from {join_paths(paths, _NAMED)}"


def _runs_checks(change: FileChange) -> bool:
    """Return whether a file has commands that check the project, or their configuration."""
    if change.is_binary or _LISTS.fullmatch(change.path):
        return False
    if _SCRIPTS.fullmatch(change.path) or change.kind == "configuration":
        return True
    return is_shared(change.path) and not change.path.endswith(".rs")


def _more(pattern: re.Pattern[str], change: FileChange) -> int:
    """Return in how many more lines of a file the pattern occurs than before.

    In a shared file, only the part that checks the project counts.
    """
    added, removed = change.added, change.removed
    if sections_of(change.path):
        part = check_part_change(change)
        added, removed = part.added, part.removed
    gained = sum(pattern.search(line) is not None for line in added)
    return gained - sum(pattern.search(line) is not None for line in removed)


def _leaves_tests_out(change: FileChange) -> bool:
    """Return whether a Cargo package runs the tests of fewer parts than before."""
    if posixpath.basename(change.path) != "Cargo.toml":
        return False
    return any(map(_UNTESTED.match, change.added)) and not any(map(_UNTESTED.match, change.removed))


def _of_limits(changes: Sequence[FileChange]) -> Iterator[str]:
    for change in changes:
        if change.is_binary or not _runs_checks(change):
            continue
        for key, old, new in _limits(change, _LIMIT):
            if new is None or new < old:
                yield f"{key} is {'gone' if new is None else 'lower'} in {change.path}"
        for key, old, new in _limits(change, _CEILING):
            if new is None or new > old:
                yield f"{key} is {'gone' if new is None else 'higher'} in {change.path}"


def _limits(
    change: FileChange, pattern: re.Pattern[str]
) -> Iterator[tuple[str, float, float | None]]:
    """Yield the limits that differ: their names, the old numbers, and the new ones, if any."""
    if change.new is None:
        return
    part = check_part_change(change) if sections_of(change.path) else change
    new = _numbers(part.new_text, pattern)
    for key, number in _numbers(part.old_text, pattern).items():
        if new.get(key) != number:
            yield key, number, new.get(key)


def _numbers(text: str, pattern: re.Pattern[str]) -> dict[str, float]:
    return {match["key"]: float(match["number"]) for match in pattern.finditer(text)}


def _of_snapshots(changes: Sequence[FileChange]) -> Iterator[str]:
    rewritten = [
        change.path
        for change in changes
        if change.kind == "snapshot" and change.old is not None and change.new is not None
        if change.old != change.new and not change.only_gained
    ]
    if rewritten:
        yield f"{count_of(len(rewritten), 'snapshot')} rewritten: {join_paths(rewritten, _NAMED)}"


def _notes(changes: Sequence[FileChange]) -> Iterator[str]:
    silenced = [change.path for change in changes if _more_suppressions(change) > 0]
    if silenced:
        number = sum(max(0, _more_suppressions(change)) for change in changes)
        yield f"{count_of(number, 'more suppression')}: {join_paths(silenced, _NAMED)}"
    changed = [change.path for change in changes if _changes_assertions(change)]
    if changed:
        yield f"assertions changed in {join_paths(changed, _NAMED)}"
    configured = [change.path for change in changes if _configures_checks(change)]
    if configured:
        yield f"the configuration of checks changed: {join_paths(configured, _NAMED)}"


def _more_suppressions(change: FileChange) -> int:
    if change.is_binary or not change.language:
        return 0
    return _more(change.language.suppression, change)


def _changes_assertions(change: FileChange) -> bool:
    if change.old is None or change.new is None or not change.language:
        return False
    before = _tests_in(change, change.old_text)
    gone = Counter(before.splitlines()) - Counter(_tests_in(change, change.new_text).splitlines())
    return any(change.language.assertion.search(line) for line in gone)


def _configures_checks(change: FileChange) -> bool:
    if change.kind == "configuration":
        return True
    if change.is_binary or not is_shared(change.path) or change.path.endswith(".rs"):
        return False
    old = check_part(change.path, change.old_text)
    return old != check_part(change.path, change.new_text)
