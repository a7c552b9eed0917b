"""Names that are valid in TypeScript."""

from __future__ import annotations

import re
from collections.abc import Iterable

IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
# Reserved words, and the name of the answer's function.
RESERVED = frozenset(
    [
        "agent_code",
        "arguments",
        "await",
        "break",
        "case",
        "catch",
        "class",
        "const",
        "continue",
        "debugger",
        "default",
        "delete",
        "do",
        "else",
        "enum",
        "eval",
        "export",
        "extends",
        "false",
        "finally",
        "for",
        "function",
        "if",
        "implements",
        "import",
        "in",
        "instanceof",
        "interface",
        "let",
        "new",
        "null",
        "package",
        "private",
        "protected",
        "public",
        "return",
        "static",
        "super",
        "switch",
        "this",
        "throw",
        "true",
        "try",
        "typeof",
        "undefined",
        "var",
        "void",
        "while",
        "with",
        "yield",
    ]
)


def parameter_names(properties: Iterable[str]) -> dict[str, str]:
    """Return a unique name for each property of a schema."""
    names: dict[str, str] = {}
    for property_name in properties:
        name = re.sub(r"[^A-Za-z0-9_$]", "_", property_name) or "_"
        if name[0].isdigit():
            name = f"_{name}"
        while name in RESERVED or name in names.values():
            name += "_"
        names[property_name] = name
    return names
