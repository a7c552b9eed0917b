"""The page on security lists each system call that the sandbox refuses, with its error."""

from __future__ import annotations

import re
from pathlib import Path

from code_commit_workspace.process.system_calls import LIMITED_CALLS, MODE_CALLS, REFUSED_CALLS

PAGE = Path(__file__).parents[2] / "docs/security.md"
ERRORS = {1: "EPERM", 38: "ENOSYS", 97: "EAFNOSUPPORT"}  # their numbers on Linux
VARIANTS = {"clock_settime64": "clock_settime"}  # of 32 bits


def test_each_refused_call_is_listed_with_its_error() -> None:
    section = PAGE.read_text().partition("\n### System calls\n")[2].partition("\n## ")[0]
    listed = {}
    for calls, error, _ in re.findall(r"^\| (`.+?) \| (E\w+) \| (.+) \|$", section, re.MULTILINE):
        for name in re.findall(r"`([a-z_0-9]+)`", calls):
            listed[name] = error
    refused = {
        VARIANTS.get(call.name, call.name): ERRORS[call.error]
        for call in (*REFUSED_CALLS, *LIMITED_CALLS)
    }
    assert listed == refused | {call.name: "EPERM" for call in MODE_CALLS}
