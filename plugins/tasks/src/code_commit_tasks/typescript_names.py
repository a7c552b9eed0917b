"""Names that TypeScript takes."""

from __future__ import annotations

import re
from collections.abc import Iterable

IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
# What the language takes for itself, and what the answer's function is called.
RESERVED = frozenset(
    (
        *("agent_code", "arguments", "await", "break", "case", "catch", "class", "const", "continue", "debugger"),
        *("default", "delete", "do", "else", "enum", "eval", "export", "extends", "false", "finally", "for"),
        *("function", "if", "implements", "import", "in", "instanceof", "interface", "let", "new", "null", "package"),
        *("private", "protected", "public", "return", "static", "super", "switch", "this", "throw", "true", "try"),
        *("typeof", "undefined", "var", "void", "while", "with", "yield"),
    )
)


def parameter_names(properties: Iterable[str]) -> dict[str, str]:
    """Return a name for each property of a schema, no two the same."""
    names: dict[str, str] = {}
    for each in properties:
        name = re.sub(r"[^A-Za-z0-9_$]", "_", each) or "_"
        name = f"_{name}" if name[0].isdigit() else name
        while name in RESERVED or name in names.values():
            name += "_"
        names[each] = name
    return names
