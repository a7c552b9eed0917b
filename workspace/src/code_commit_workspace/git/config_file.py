"""Read a configuration file of git as data, without the files that it includes.

The syntax is in "CONFIGURATION FILE" of git-config(1).
"""

from __future__ import annotations

import re

from code_commit_workspace.git.layout import GitError

Entry = tuple[str, str]
"""A setting: its name, with section and key in lower case, and its value."""

_BLANK = re.compile(r"(?:[ \t\r\n\f\v]|[#;][^\n]*)*")
_SECTION = re.compile(r'\[(?P<section>[A-Za-z0-9.-]+)(?:[ \t]+"(?P<sub>(?:[^"\\\n]|\\[^\n])*)")?\]')
_KEY = re.compile(r"(?P<key>[A-Za-z][A-Za-z0-9-]*)[ \t]*(?P<sign>=[ \t]*|(?=\r?\n|\Z|[#;]))")
_PIECE = re.compile(r'\\\r?\n|\\(?P<escaped>[\\"ntb])|(?P<quote>")|(?P<plain>[^\\"\n#;]+|[#;])')
_BLANKS = " \t\r\f\v"
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


def parse_config(text: str, name: str) -> list[Entry]:
    """Return the settings in `text`, in order; `name` is the file, for errors.

    Raises:
        GitError: it is not a valid configuration file.
    """
    entries: list[Entry] = []
    section = ""
    text = text.removeprefix("\ufeff")
    at = _after_blanks(text, 0)
    while at < len(text):
        if header := _SECTION.match(text, at):
            section = header["section"].lower()
            if header["sub"] is not None:
                section += "." + re.sub(r"\\(.)", r"\1", header["sub"])
            at = header.end()
        elif section and (key := _KEY.match(text, at)):
            value = "true"
            at = key.end()
            if key["sign"]:
                value, at = _value(text, at, name)
            entries.append((f"{section}.{key['key'].lower()}", value))
        else:
            raise _bad_line(text, at, name)
        at = _after_blanks(text, at)
    return entries


def _value(text: str, at: int, name: str) -> tuple[str, int]:
    """Return the value that begins at `at`, and where it ends."""
    pieces: list[str] = []
    length = 0  # how many pieces remain without trailing blanks
    quoted = False
    while at < len(text) and text[at] != "\n":
        if not quoted and text[at] in "#;":
            end_of_comment = text.find("\n", at)
            at = len(text) if end_of_comment < 0 else end_of_comment
            break
        piece = _PIECE.match(text, at)
        if piece is None:
            raise _bad_line(text, at, name)
        at = piece.end()
        if piece["quote"]:
            quoted = not quoted
            pieces.append("")
        elif piece["escaped"]:
            pieces.append(_ESCAPES.get(piece["escaped"], piece["escaped"]))
        elif plain := piece["plain"]:
            inner = plain if quoted else plain.rstrip(_BLANKS)
            pieces.append(inner)
            if inner:
                length = len(pieces)
            pieces.append(plain[len(inner) :])
        if quoted or piece["quote"] or piece["escaped"]:
            length = len(pieces)
    if quoted:
        raise _bad_line(text, at, name)
    return "".join(pieces[:length]), at


def _after_blanks(text: str, at: int) -> int:
    return next(_BLANK.finditer(text, at)).end()  # there may be none of them


def _bad_line(text: str, at: int, name: str) -> GitError:
    line = text.count("\n", 0, at) + 1
    return GitError(f"bad config line {line} in file {name}")
