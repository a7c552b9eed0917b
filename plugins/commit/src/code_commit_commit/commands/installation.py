"""What installs the requirements of a failed build, and `init --fix`, which runs it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from code_commit.plugin_api import Host
from code_commit_commit.build_scripts.part import Part
from code_commit_commit.commands.first_build import (
    FirstBuild,
    open_for_builds,
    print_first_build,
    run_first_build,
)

_MISSING = re.compile(
    r"bin/activate: No such file"  # of an environment
    r"|No module named|is not installed|are not installed|has no (?:pytest|Django)"
    r"|Couldn't import Django|command not found|: not found$|[Cc]annot find (?:module|package)"
    r"|[Cc]ould not find gem|no required module provides|\bImportError: "
    # Plugins of pytest are missing.
    r"|^E +fixture '\w+' not found|^E +recursive dependency involving fixture"
    r"|: error: unrecognized arguments: --|during collection !",
    re.MULTILINE,
)
_NO_PYTHON = re.compile(r"No interpreter found for")  # of uv
_NO_PROGRAM = re.compile(
    r"^(?:build\.sh: (\S+) is not installed$|make: (\S+): No such file or directory"
    r"|.*: line \d+: (\S+): command not found$)",
    re.MULTILINE,
)
# Programs that belong to the machine: no command of ours installs them.
_OF_THE_MACHINE = frozenset(
    [
        *("autoreconf", "c++", "cargo", "cc", "clang", "cmake", "g++", "gcc", "make", "meson"),
        *("bun", "deno", "node", "npm", "npx", "pdm", "pipenv", "poetry", "python3", "uv"),
        *("bundle", "composer", "dotnet", "go", "java", "just", "mix", "mvn", "php", "ruby"),
        *("rake", "swift"),
    ]
)
_HEADING = re.compile(r"^== (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Installation:
    """A command that `init --fix` ran, and whether it succeeded."""

    command: str
    passed: bool


def installing(parts: Sequence[Part], build: FirstBuild) -> str:
    """Return the command that installs what a failed build lacks, or ""."""
    if _NO_PYTHON.search(build.output):
        return "uv python install"
    if _missing_program(build) in _OF_THE_MACHINE:
        return ""
    part = _failed_part(parts, build)
    if part and part.install and (part.install in build.output or _MISSING.search(build.output)):
        return part.typed_install
    return ""


def _failed_part(parts: Sequence[Part], build: FirstBuild) -> Part | None:
    """Return the part that began last. The script says so if there are several."""
    if len(parts) == 1:
        return parts[0]
    headings = _HEADING.findall(build.output)
    return next((part for part in parts if headings[-1:] == [str(part)]), None)


def next_step(
    parts: Sequence[Part],
    build: FirstBuild,
    installations: Sequence[Installation],
) -> str:
    """Return what a person should do after a failed build, except for what was done already."""
    command = installing(parts, build)
    if command and Installation(command, passed=True) not in installations:
        return command
    if program := _missing_program(build):
        return f"install {program}, then run {build.typed}"
    return build.typed


def _missing_program(build: FirstBuild) -> str:
    found = _NO_PROGRAM.search(build.output)
    return next(filter(None, found.groups())) if found else ""


def fix(
    host: Host,
    parts: Sequence[Part],
    build: FirstBuild,
) -> tuple[FirstBuild, list[Installation]]:
    """Install what the build lacks, and run it again, until it passes or nothing helps.

    Also install if a part failed that was never installed here.

    Raises:
        NotReady: a command cannot run.
    """
    installations: list[Installation] = []
    for _ in parts:
        command = installing(parts, build)
        part = _failed_part(parts, build)
        if not command and part and _was_never_installed(host.root, part):
            command = part.typed_install
        if build.passed or not command or command in {done.command for done in installations}:
            break
        passed = _install(host, command)
        installations.append(Installation(command, passed))
        if not passed:
            break
        build = run_first_build(host, "\nRunning build.sh ...")
        print_first_build(host, build)
    return build, installations


def _was_never_installed(root: Path, part: Part) -> bool:
    if not part.install or not part.leaves:
        return False
    return not (root / part.folder / part.leaves[0]).exists()


def document_of(installations: Sequence[Installation]) -> list[dict[str, object]]:
    """Return the installations for `--json`."""
    return [asdict(installation) for installation in installations]


def _install(host: Host, command: str) -> bool:
    """Run a command in the sandbox of builds, and show it and its last lines."""
    host.out.note(f"\nRunning {command} ...")
    with (
        tempfile.TemporaryDirectory(prefix="code-commit-") as folder,
        open_for_builds(host) as workspace,
    ):
        result = workspace.run_command(
            ["bash", "-c", command],
            log=Path(folder, "install.txt"),
            timeout=host.build_timeout,
        )
    for line in result.last_lines().splitlines():
        host.out.note(f"  {line}")
    if result.advice:
        host.out.note(result.advice)
    if not result.passed:
        host.out.note(f"It {result.ending}. Run it yourself: what it needs may be out of reach")
    return result.passed
