"""A part of a project that builds separately, and the `build.sh` of all parts."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

_HEAD = """\
#!/usr/bin/env bash
# Builds and tests the project: exit code 0 means success. code-commit runs it after every change.
set -euo pipefail
cd "$(dirname "$0")"
"""
# Functions for the script, which gets those that its commands call.
_FUNCTIONS = {
    "fail": """\
fail() {
  echo "build.sh: $*" >&2
  exit 1
}
""",
    "need": """\
need() {
  command -v "$1" >/dev/null || fail "$1 is not installed"
}
""",
    "has_files": """\
# has_files PATTERN...: is there such a path, outside of installed packages and build output?
has_files() {
  local pattern
  for pattern in "$@"; do
    [ -z "$(find . \\( -name '.?*' -o -name node_modules -o -name venv \
-o -name target -o -name build \\) -prune \\
      -o -type f -path "$pattern" -print -quit)" ] || return 0
  done
  return 1
}
""",
    "has_lines": """\
# has_lines EXPRESSION PATTERN...: does such a file have a line that matches?
has_lines() {
  local pattern
  for pattern in "${@:2}"; do
    [ -z "$(find . \\( -name '.?*' -o -name node_modules -o -name venv \
-o -name target -o -name build \\) -prune \\
      -o -type f -path "$pattern" -exec grep -qE "$1" {} \\; -print -quit)" ] || return 0
  done
  return 1
}
""",
    "run_tests": """\
# run_tests EXPRESSION COMMAND...: fails also if no line of the output matches, \
because then no test ran.
run_tests() {
  "${@:2}" 2>&1 | awk -v ran="$1" \
'{ print; fflush() } $0 ~ ran { found = 1 } END { exit !found }' || {
    [ "${PIPESTATUS[0]}" -ne 0 ] || fail "there are test files, but no test ran"
    exit 1
  }
}
""",
}
NO_TESTS = 'echo "build.sh: there are no tests yet"'


@dataclass(frozen=True, slots=True)
class Part:
    """How to build and test one language in one folder.

    `families` are the kinds of sources that `commands` build or test, see `sources`. `setup` are
    commands that check what the build needs. `leaves` are the folders that the build creates and
    git should ignore; `install` is the command that installs the requirements of the build.
    """

    language: str
    commands: str
    leaves: tuple[str, ...] = ()
    install: str = ""
    folder: str = ""
    families: tuple[str, ...] = ()
    setup: str = ""

    @property
    def typed_install(self) -> str:
        """The command that installs the requirements, for the top folder."""
        if self.folder:
            return f"(cd {shlex.quote(self.folder)} && {self.install})"
        return self.install

    def __str__(self) -> str:
        return f"{self.language} in {self.folder}/" if self.folder else self.language


def build_script(parts: Sequence[Part], not_covered: Sequence[str] = ()) -> str:
    """Return the text of `build.sh`.

    It always fails without parts and if something is `not_covered`, because no change may pass
    unchecked.
    """
    blocks = [_block(part, alone=len(parts) == 1) for part in parts]
    if not blocks and not not_covered:
        blocks.append(UNKNOWN)
    if not_covered:
        blocks.append(_NOT_COVERED.format(what=shlex.quote(", ".join(not_covered))))
    commands = "\n".join(blocks)
    used: list[str] = []
    for name in reversed(_FUNCTIONS):  # the later ones call the earlier ones
        if f"{name} " in "".join([commands, *used]):
            used.insert(0, _FUNCTIONS[name])
    return "\n".join([_HEAD, *used, commands])


UNKNOWN = 'fail "add the commands that build and test this project"\n'
"""The last line of the script for a project that `init` knows nothing of."""
_NOT_COVERED = """\
# Nothing above builds or tests what the next line names. Add commands that do. Or remove the line,
# if a change of these files may pass unchecked.
fail "not covered, see the end of build.sh:" {what}
"""


def _block(part: Part, *, alone: bool) -> str:
    commands = part.setup + part.commands
    if part.folder:
        commands = f"cd {shlex.quote(part.folder)}\n{commands}"
    return commands if alone else f"echo {shlex.quote(f'== {part}')}\n(\n{commands})\n"


def if_tests(
    patterns: Sequence[str],
    tests: str,
    otherwise: str = "",
    *,
    containing: str = "",
) -> str:
    """Return commands that run `tests` if files match `patterns`, else `otherwise`.

    The script looks when it runs. With `containing`, a line of such a file must match it, too.
    """
    quoted = " ".join(f"'{pattern}'" for pattern in patterns)
    look = f"has_lines '{containing}' {quoted}" if containing else f"has_files {quoted}"
    return f"if {look}; then\n  {tests}\nelse\n  {otherwise or NO_TESTS}\nfi\n"
