"""Read the tests of a file, line by line: which there are, which are skipped, what they assert."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Self

from code_commit_acceptance.file_change import LONGEST_LINE
from code_commit_acceptance.languages import Language

_STRING = re.compile(r"""["'`](?P<text>(?:\\.|[^\\"'`]){0,200}+)["'`]""")
_RETURN = re.compile(r"\s*(?:return|return\s*;|pass|return\s+None)\s*(?:#.*|//.*)?")


@dataclass(slots=True)
class CheckCode:
    """What the tests of some files are, by name.

    `others` are names of groups of tests, and of files with tests.
    """

    tests: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    returning: Counter[str] = field(default_factory=Counter)  # those that end at once
    assertions: int = 0
    only: int = 0
    hollow: int = 0

    def __iadd__(self, other: CheckCode) -> Self:
        """Add the tests of another file."""
        self.tests += other.tests
        self.others += other.others
        self.skipped += other.skipped
        self.returning += other.returning
        self.assertions += other.assertions
        self.only += other.only
        self.hollow += other.hollow
        return self


def read_check_code(path: str, text: str, language: Language) -> CheckCode:
    """Return what the lines of a file say. It takes linear time, and never fails."""
    reader = _Reader(path, language)
    for line in text.splitlines():
        reader.read(line[:LONGEST_LINE])
    if reader.code.tests:
        reader.code.others[path] += 1
    return reader.code


class _Reader:
    """Reads one file. `_test` is the latest test, `_indent` where it begins."""

    def __init__(self, path: str, language: Language) -> None:
        self.code = CheckCode()
        self._path = path
        self._language = language
        self._test = ""
        self._indent = 0
        self._is_first = False  # the next line is the first of a test
        self._awaits_name = False  # of a test whose attribute was read
        self._awaits_skipped = False  # the attribute above skips what follows

    def read(self, line: str) -> None:
        """Read the next line."""
        stripped = line.strip()
        language = self._language
        is_attribute = stripped.startswith(language.attribute)
        if not stripped or (stripped.startswith(language.comment) and not is_attribute):
            return
        self._count(line)
        skips = language.skip.search(line) is not None
        indent = len(line) - len(line.lstrip())
        if indent <= self._indent and not stripped.startswith((")", "{")):
            self._test = ""
        if begins := self._begins(line, indent):
            if skips or self._awaits_skipped:
                self.code.skipped[begins] += 1
            self._awaits_skipped = False
            return
        if is_attribute:
            self._awaits_skipped |= skips
            return
        if self._is_first and self._test and _RETURN.fullmatch(line):
            self.code.returning[self._test] += 1
        self._is_first = self._is_first and stripped.startswith((")", '"""', "'''"))
        if skips and (self._test or not indent):
            self.code.skipped[self._test or self._path] += 1

    def _count(self, line: str) -> None:
        language = self._language
        self.code.assertions += len(language.assertion.findall(line))
        self.code.only += language.only.search(line) is not None
        self.code.hollow += language.hollow.search(line) is not None

    def _begins(self, line: str, indent: int) -> str:
        """Return the name of the test or the group that begins with this line."""
        language = self._language
        if match := language.test.search(line):
            name = match.groupdict().get("name") or _quoted(line)
            if not name and line.lstrip().startswith(language.attribute):
                self._awaits_name = True
                return ""
            return self._begin(name or "a test", indent)
        if self._awaits_name and (match := language.definition.search(line)):
            self._awaits_name = False
            return self._begin(next(filter(None, match.groups())), indent)
        if match := language.group.search(line):
            name = f"group {match.groupdict().get('name') or _quoted(line)}"
            self.code.others[name] += 1
            return name
        return ""

    def _begin(self, name: str, indent: int) -> str:
        self.code.tests[name] += 1
        self._test = name
        self._indent = indent
        self._is_first = True
        return name


def _quoted(line: str) -> str:
    """Return the first string in a line."""
    match = _STRING.search(line)
    return match["text"] if match else ""
