"""How many tests a build ran, according to the last lines of the usual runners."""

from __future__ import annotations

import re

# Each line counts as many tests as its groups name.
_COUNTS = tuple(
    re.compile(expression, re.MULTILINE)
    for expression in (
        r"^(?:=+ )?(?:\d+ [a-z]+, )*?(\d+) passed\b.* in [\d.]+m?s",  # pytest
        r"^Ran (\d+) tests? in ",  # unittest, Django
        r"^test result: \w+\. (\d+) passed; (\d+) failed",  # cargo
        r"^(?:# |\u2139 )tests (\d+)$",  # Node.js
        r"^Tests:\s+(?:\d+ [a-z]+, )*?(\d+) passed, \d+ total",  # Jest
        r"^[ \t]*Tests\s+(?:\d+ [a-z]+ \| )*?(\d+) passed",  # Vitest
        r"^[ \t]*(\d+) passing\b",  # Mocha
        r"^\d+% tests passed, \d+ tests failed out of (\d+)",  # CTest
        r"^Tests run: (\d+), Failures: \d+, Errors: \d+, Skipped: \d+$",  # Maven
        r"^Ok:\s+(\d+)",  # Meson
        r"^(\d+) (?:runs|tests), \d+ assertions",  # minitest
        r"^(\d+) examples?, ",  # RSpec
        r"^OK \((\d+) tests?, ",  # PHPUnit
        r"^Files=\d+, Tests=(\d+),",  # prove
        r"^# TOTAL: +(\d+)",  # Automake
        r"^[ \t]*Total tests: (\d+)",  # .NET
    )
)
_COLOR = re.compile(r"\x1b\[[\d;]*m")
_LONGEST = 400  # characters of such a line
_NO_TESTS = "build.sh: there are no tests yet"


def count_tests(output: str) -> int | None:
    """Return how many tests ran, or None if the output does not say."""
    lines = [line for line in _COLOR.sub("", output).splitlines() if len(line) <= _LONGEST]
    text = "\n".join(lines)
    counts = [
        sum(int(number) for number in found.groups() if number)
        for expression in _COUNTS
        for found in expression.finditer(text)
    ]
    if counts:
        return sum(counts)
    return 0 if _NO_TESTS in lines else None
