"""Validate a model's arguments against a tool's schema, with messages for the model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from code_commit.plugin_api import Json, ToolCall

_MOST_ERRORS = 5  # errors in one message
_LONGEST = 300  # characters of one error, which quotes the model


def schema_problem(schema: object) -> str:
    """Return why `schema` cannot describe a tool's parameters, or ""."""
    from jsonschema import Draft202012Validator, SchemaError

    if not isinstance(schema, dict) or schema.get("type") != "object":
        return "the parameters are not a JSON schema of type object"
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return f"the parameters are not a JSON schema: {error.message}"
    return ""


def arguments_problem(call: ToolCall, schema: Json) -> str:
    """Return what is wrong with the arguments of `call`, or "".

    References in a schema are never fetched.
    """
    from jsonschema import Draft202012Validator
    from referencing import Registry

    if call.arguments is None:
        return f"The arguments of {call.name} are not a JSON object. Call it again with valid JSON."
    validator = Draft202012Validator(schema, registry=Registry())
    errors = list(validator.iter_errors(call.arguments))
    if not errors:
        return ""
    errors.sort(key=lambda error: list(map(str, error.absolute_path)))
    first = errors[:_MOST_ERRORS]
    lines = [f"- {_place(error.absolute_path)}{_short(error.message)}" for error in first]
    if len(errors) > _MOST_ERRORS:
        lines.append(f"- and {len(errors) - _MOST_ERRORS} more")
    return "\n".join([f"The arguments of {call.name} are invalid:", *lines, _expected(schema)])


def _place(path: Iterable[str | int]) -> str:
    steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in path]
    if not steps:
        return ""
    return f"at {''.join(steps).removeprefix('.')}: "


def _short(message: str) -> str:
    if len(message) <= _LONGEST:
        return message
    return f"{message[: _LONGEST // 2]} … {message[-_LONGEST // 2 :]}"


def _expected(schema: Json) -> str:
    properties: dict[str, Any] = dict(schema.get("properties", {}))
    required = set(schema.get("required", ()))
    words = []
    for name, property_schema in properties.items():
        kind = _type(property_schema)
        words.append(f"{name} ({kind})" if name in required else f"{name} ({kind}, optional)")
    return f"Expected: {', '.join(words) or 'nothing'}."


def _type(schema: Any) -> Any:
    return schema.get("type", "any") if isinstance(schema, dict) else "any"
