"""The command with which a project says itself how it is tested: `make test`, `just check`, …"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from code_commit_commit.build_scripts.folder import Folder
from code_commit_commit.build_scripts.make_rules import Rules, just_rules, make_rules
from code_commit_commit.build_scripts.part import Part
from code_commit_commit.build_scripts.sources import families_in

NAMES = ("test", "check")
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_JUSTFILES = ("justfile", "Justfile", ".justfile")
_TOOLS = {
    "C": r"\$[({](?:CC|CXX)[)}]|\b(?:gcc|g\+\+|clang|cc|c\+\+|ctest|cmake|meson|ninja)\b|\.o\b",
    "C#": r"\bdotnet\b",
    "Elixir": r"\bmix\b",
    "Go": r"\bgo (?:test|build|vet|tool)\b|\bgotestsum\b",
    "Haskell": r"\b(?:cabal|stack)\b",
    "Java": r"\b(?:mvnw?|gradlew?|sbt)\b",
    "JavaScript": r"\b(?:npm|npx|pnpm|yarn|bun|node|jest|vitest|mocha)\b",
    "PHP": r"\b(?:phpunit|pest|composer|php)\b",
    "Python": r"\b(?:python3?|pytest|py\.test|tox|nox|uv run|poetry|pdm|hatch|coverage)\b",
    "Ruby": r"\b(?:bundle|rake|rspec|ruby|bin/rails)\b",
    "Rust": r"\bcargo\b",
    "Swift": r"\bswift\b",
    "Zig": r"\bzig\b",
}
# A line of a runner's output that says that tests ran.
RAN: Mapping[str, str] = {
    "Go": "^ok[^[]*$",
    "Java": "Tests run: [1-9]|BUILD SUCCESSFUL",
    "JavaScript": "(tests|Tests:?) +[1-9]|Tests:.* [1-9]|[1-9][0-9]* passing",
    "Python": "[1-9][0-9]* passed|^Ran [1-9]",
    "Rust": "^running [1-9]",
}
_SCRIPT = re.compile(r"(?:\./)?([\w.-]+(?:/[\w.-]+)*)")
_MOST_WORDS = 2000  # of what a target runs
_MOST_FOLDERS = 20
_ELSEWHERE = re.compile(r"-C\s*([\w.-]+(?:/[\w.-]+)*)|\bcd ([\w.-]+(?:/[\w.-]+)*)")


@dataclass(frozen=True, slots=True)
class OwnCommand:
    """`command` is what `program` runs; `families` are the sources that its tools build or test.

    `text` is what it runs, as far as it can be read.
    """

    command: str
    program: str
    families: tuple[str, ...]
    text: str = field(repr=False)


def own_command(top: Folder, remarks: list[str]) -> OwnCommand | None:
    """Return how the project's Makefile or justfile tests it.

    Add to `remarks` what a person should know of a target that tests nothing.
    """
    kinds: tuple[tuple[str, tuple[str, ...], Callable[[str], Rules]], ...] = (
        ("make", MAKEFILES, make_rules),
        ("just", _JUSTFILES, just_rules),
    )
    for program, names, read in kinds:
        file = next((name for name in names if name in top.names), None)
        if file is None:
            continue
        text = top.read(file)
        rules = read(text)
        for target in NAMES:
            if target not in rules.by_target:
                continue
            if rules.runs_nothing(target):
                remarks.append(f"`{program} {target}` of {file} runs nothing")
                continue
            ran = "\n".join([rules.runs(target), *_called(top, rules.runs(target))])
            families = tuple(_families(top, ran, text))
            return OwnCommand(f"{program} {target}", program, families, ran)
    return None


def _families(top: Folder, ran: str, text: str) -> Iterator[str]:
    """Yield the families of tools in what a target `ran`; of C in the whole `text`.

    A project of one family has no other.
    """
    present = families_in(top)
    for family, tools in _TOOLS.items():
        # What a target needs may be built by rules for all files of a kind.
        where = f"{ran}\n{text}" if family == "C" else ran
        if family in present and (len(present) == 1 or re.search(tools, where)):
            yield family


def _called(top: Folder, ran: str) -> Iterator[str]:
    """Yield the texts of scripts of the project, and of Makefiles in other folders."""
    paths = set(top.paths)
    for found in islice(_SCRIPT.finditer(ran), _MOST_WORDS):
        if found[1] in paths:
            yield top.read(found[1])
    for found in islice(_ELSEWHERE.finditer(ran), _MOST_FOLDERS):
        for name in MAKEFILES:
            yield top.read(f"{found[1] or found[2]}/{name}")


def checked(command: str, family: str) -> str:
    """Return `command` as a line of a script that fails if it runs no test."""
    if family not in RAN:
        return command
    return f"run_tests '{RAN[family]}' {command}"


def own_part(own: OwnCommand, parts: list[Part]) -> Part:
    """Return the part that runs `own` instead of the commands of `parts`, with what they need."""
    setups = []
    for part in parts:
        if "C" in part.families:  # make says itself what it needs
            continue
        if part.folder and part.setup:
            setups.append(f"(\ncd {shlex.quote(part.folder)}\n{part.setup})\n")
        elif part.setup:
            setups.append(part.setup)
    tested = next((family for family in own.families if family in RAN), "")
    build = "make\n" if own.program == "make" and "C" in own.families else ""
    command = own.command
    if tested and "C" not in own.families:
        command = checked(command, tested)
    languages = " and ".join(own.families)
    return Part(
        language=f"{languages} ({own.command})" if languages else own.command,
        commands=f"{build}{command}\n",
        leaves=tuple(leaf for part in parts for leaf in part.leaves if not part.folder),
        install=next((part.install for part in parts if part.install), ""),
        families=own.families,
        setup=f"need {own.program}\n{''.join(setups)}",
    )
