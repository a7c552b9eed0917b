"""Tell whether a line of TypeScript begins inside a template literal, without parsing the code."""

from __future__ import annotations

import re

_CODE = re.compile(
    r"""
    //.* | (?P<comment>/\*)
    | "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*'
    # A regular expression: after one of these characters, a slash does not divide.
    | (?:(?<=[=(,:;!&|?{}\[+])|(?<=return))[ ]{0,2}
      /(?:[^/\\\[]|\\.|\[(?:[^\]\\]|\\.){0,99}\]){1,300}/
    | (?P<mark>[`{}])
    """,
    re.VERBOSE,
)
_LITERAL = re.compile(r"\\.|(?P<mark>`|\$\{)")


class LiteralScanner:
    """Scans code line by line. It may err, because the code is not parsed."""

    def __init__(self) -> None:
        self._open: list[str] = []  # what is open: a literal, or the braces of an expression in one
        self._in_comment = False

    @property
    def in_literal(self) -> bool:
        """Whether the next line begins inside a template literal."""
        return self._open[-1:] == ["`"]

    def scan(self, line: str) -> None:
        """Go on to the end of `line`."""
        at = 0
        while at < len(line):
            if self._in_comment:
                end = line.find("*/", at)
                if end < 0:
                    return
                self._in_comment = False
                at = end + 2
            elif match := (_LITERAL if self.in_literal else _CODE).search(line, at):
                at = match.end()
                groups = match.groupdict()
                self._in_comment = bool(groups.get("comment"))
                self._meet(groups["mark"])
            else:
                return

    def _meet(self, mark: str | None) -> None:
        if mark == "`" and not self.in_literal:
            self._open.append(mark)
        elif mark == "`" or (mark == "}" and self._open):
            self._open.pop()
        elif mark == "${" or (mark == "{" and self._open):
            self._open.append("{")
