"""The rules of a Makefile or a justfile, as far as a look at the text tells what they run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_RULE = re.compile(r"([^\s#:=][^:=]*)::?(?![:=])([^=;#]*)(?:;(.*)|#.*)?")
_RECIPE = re.compile(r"@?([A-Za-z_][\w-]*)(?:\s[^:]*)?:(?!=)([^#]*)")  # of just
_DEFINITION = re.compile(r"^([A-Za-z_][\w.-]*)\s*(?::|::|\?|\+)?=\s*(.*)$")
_VARIABLE = re.compile(r"\$[({]([A-Za-z_][\w.-]*)[)}]")
# Such a command runs no test.
_IDLE = re.compile(r"[@+-]*\s*(?:(?:echo|printf)\b[^|;&`<>()]*|:|true|exit 0|mkdir\b[^|;&]*|#.*)?")
_DEEPEST = 20  # steps from a target to what it needs
_LONGEST = 100_000  # characters of a line with the values of variables


@dataclass(slots=True)
class Rule:
    """What a target needs, and the lines that make it."""

    needs: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules by target.

    Not `complete` if more rules may come from elsewhere, or from names that only make knows.
    """

    by_target: Mapping[str, Rule]
    variables: Mapping[str, str]
    complete: bool = True

    def runs(self, target: str) -> str:
        """Return all lines that a target runs, with the values of variables."""
        return "\n".join(self._expanded(line) for line in self._lines(target))

    def runs_nothing(self, target: str) -> bool:
        """Return whether no line of a target can run a test."""
        return self.complete and all(
            _IDLE.fullmatch(line.strip()) for line in self._lines(target, missing="?")
        )

    def _lines(self, target: str, missing: str = "") -> Iterator[str]:
        seen: set[str] = set()
        waiting = [target]
        for _ in range(_DEEPEST):
            following: list[str] = []
            for name in waiting:
                rule = self.by_target.get(name)
                if name in seen:
                    continue
                seen.add(name)
                if rule:
                    yield from rule.lines
                    following += rule.needs
                elif missing and _VARIABLE.search(name):
                    yield missing
            waiting = following

    def _expanded(self, line: str) -> str:
        for _ in range(2):  # a variable may name another one
            line = _VARIABLE.sub(lambda found: self.variables.get(found[1], found[0])[:999], line)
            line = line[:_LONGEST]
        return line


def make_rules(text: str) -> Rules:
    """Return the rules of a Makefile."""
    rules: dict[str, Rule] = {}
    variables: dict[str, str] = {}
    current: list[Rule] = []
    is_complete = True
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("\t"):
            for rule in current:
                rule.lines.append(line.strip())
            continue
        if found := _DEFINITION.match(line):
            variables[found[1]] = found[2]
        elif found := _RULE.fullmatch(line):
            current = [rules.setdefault(name, Rule()) for name in found[1].split()]
            is_complete = is_complete and "$" not in found[1] and "%" not in found[1]
            for rule in current:
                rule.needs += found[2].split()
                rule.lines += [found[3]] if found[3] else []
        elif re.match(r"-?s?include\b|define\b", line):
            is_complete = False
    return Rules(rules, variables, is_complete)


def just_rules(text: str) -> Rules:
    """Return the recipes of a justfile."""
    rules: dict[str, Rule] = {}
    current = Rule()
    is_complete = True
    for line in text.splitlines():
        if line.startswith((" ", "\t")):
            current.lines.append(line.strip())
        elif found := _RECIPE.match(line):
            current = rules.setdefault(found[1], Rule())
            current.needs += re.findall(r"[A-Za-z_][\w-]*", found[2])
        elif re.match(r"(?:import|mod)\b", line):
            is_complete = False
    return Rules(rules, {}, is_complete)
