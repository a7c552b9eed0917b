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
    for index, (name, each) in enumerate(properties.items()):
        type_ = typescript(each)
        if name in required:
            parameters.append(f"{names[name]}: {type_}")
        else:
            parameters.append(
                f"{names[name]}?: {type_}"
                if index > last
                else f"{names[name]}: {type_} | undefined"
            )
        if isinstance(each, Mapping) and each.get("description"):
            notes.append(f"@param {names[name]} {each['description']}")
    comment = _comment(function.tool.description, notes)
    return f"{comment}declare function {function.name}({', '.join(parameters)}): Promise<{function.returns}>;"


def typescript(schema: Any, depth: int = 0) -> str:  # noqa: PLR0911 - one per kind of schema
    """Return the TypeScript type of a JSON schema, or `unknown`."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return "unknown"
    if "const" in schema:
        return _literal(schema["const"])
    if schema.get("enum"):
        return _union(_literal(each) for each in schema["enum"])
    for several in ("anyOf", "oneOf"):
        if schema.get(several):
            return _union(typescript(each, depth + 1) for each in schema[several])
    kind = schema.get("type")
    if isinstance(kind, list):
        return _union(typescript({**schema, "type": each}, depth + 1) for each in kind)
    if kind == "array":
        item = typescript(schema.get("items"), depth + 1)
        return f"({item})[]" if " | " in item else f"{item}[]"
    if kind == "object" or (kind is None and "properties" in schema):
        return _object(schema, depth)
    return _SIMPLE.get(kind, "unknown") if isinstance(kind, str) else "unknown"


def _object(schema: Mapping[str, Any], depth: int) -> str:
    required = set(schema.get("required", ()))
    members = [
        f"{name if IDENTIFIER.fullmatch(name) else json.dumps(name)}{'' if name in required else '?'}: "
        f"{typescript(each, depth + 1)}"
        for name, each in schema.get("properties", {}).items()
    ]
    if members:
        return "{ " + "; ".join(members) + " }"
    values = schema.get("additionalProperties")
    return f"Record<string, {typescript(values, depth + 1) if isinstance(values, Mapping) else 'unknown'}>"


def _literal(value: Any) -> str:
    return json.dumps(value) if isinstance(value, str | int | float | bool | None) else "unknown"


def _union(types: Iterable[str]) -> str:
    return " | ".join(dict.fromkeys(types))


def _comment(description: str, notes: Iterable[str]) -> str:
    lines = [
        line
        for text in (description, *notes)
        for line in textwrap.wrap(
            text.replace("*/", "* /"), _WIDTH, break_long_words=False, break_on_hyphens=False
        )
    ]
    return "/**\n" + "".join(f" * {line}\n" for line in lines) + " */\n" if lines else ""
