"""Generate TypeScript declarations of tools from their JSON schemas."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from code_commit_tasks.functions import Function
from code_commit_tasks.typescript_names import IDENTIFIER, parameter_names

_WIDTH = 100
_DEEPEST = 8  # nesting of schemas
_SIMPLE = {
    "string": "string",
    "number": "number",
    "integer": "number",
    "boolean": "boolean",
    "null": "null",
}


def declarations(functions: Iterable[Function]) -> str:
    """Return the declarations of `functions` as TypeScript, in their order."""
    return "```typescript\n" + "\n\n".join(map(declaration, functions)) + "\n```"


def declaration(function: Function) -> str:
    """Return the declaration of one function, with its schema's descriptions as a comment."""
    schema = function.tool.parameters
    properties: Mapping[str, Any] = schema.get("properties", {})
    required = set(schema.get("required", ()))
    names = parameter_names(properties)
    # A required parameter cannot follow an optional one in TypeScript: the optional one may be
    # undefined instead.
    last = max((index for index, name in enumerate(properties) if name in required), default=-1)
    parameters = []
    notes = []
    for index, (name, property_schema) in enumerate(properties.items()):
        kind = typescript(property_schema)
        if name in required:
            parameters.append(f"{names[name]}: {kind}")
        elif index > last:
            parameters.append(f"{names[name]}?: {kind}")
        else:
            parameters.append(f"{names[name]}: {kind} | undefined")
        if isinstance(property_schema, Mapping) and property_schema.get("description"):
            notes.append(f"@param {names[name]} {property_schema['description']}")
    comment = _comment(function.tool.description, notes)
    signature = f"{function.name}({', '.join(parameters)}): Promise<{function.returns}>"
    return f"{comment}declare function {signature};"


def typescript(schema: Any, depth: int = 0) -> str:  # noqa: PLR0911 - one per kind of schema
    """Return the TypeScript type of a JSON schema, or `unknown`."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return "unknown"
    if "const" in schema:
        return _literal(schema["const"])
    if schema.get("enum"):
        return _union(_literal(value) for value in schema["enum"])
    alternatives = schema.get("anyOf") or schema.get("oneOf")
    if alternatives:
        return _union(typescript(alternative, depth + 1) for alternative in alternatives)
    kind = schema.get("type")
    if isinstance(kind, list):
        return _union(typescript({**schema, "type": name}, depth + 1) for name in kind)
    if kind == "array":
        element = typescript(schema.get("items"), depth + 1)
        return f"({element})[]" if " | " in element else f"{element}[]"
    if kind == "object" or (kind is None and "properties" in schema):
        return _object(schema, depth)
    return _SIMPLE.get(kind, "unknown") if isinstance(kind, str) else "unknown"


def _object(schema: Mapping[str, Any], depth: int) -> str:
    required = set(schema.get("required", ()))
    members = []
    for name, property_schema in schema.get("properties", {}).items():
        key = name if IDENTIFIER.fullmatch(name) else json.dumps(name)
        mark = "" if name in required else "?"
        members.append(f"{key}{mark}: {typescript(property_schema, depth + 1)}")
    if members:
        return "{ " + "; ".join(members) + " }"
    values = typescript(schema.get("additionalProperties"), depth + 1)
    return f"Record<string, {values}>"


def _literal(value: Any) -> str:
    if isinstance(value, str | int | float | bool | None):
        return json.dumps(value)
    return "unknown"


def _union(types: Iterable[str]) -> str:
    return " | ".join(dict.fromkeys(types))


def _comment(description: str, notes: Iterable[str]) -> str:
    wrapper = textwrap.TextWrapper(_WIDTH, break_long_words=False, break_on_hyphens=False)
    lines = []
    for text in (description, *notes):
        lines += [f" * {line}\n" for line in wrapper.wrap(text.replace("*/", "* /"))]
    if not lines:
        return ""
    return "/**\n" + "".join(lines) + " */\n"
