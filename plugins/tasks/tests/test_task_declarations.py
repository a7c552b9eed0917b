"""TypeScript declarations from JSON schemas: correct for simple schemas, valid for all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_commit_tasks.declarations import declaration, typescript
from code_commit_tasks.functions import Function
from code_commit_tasks.runtime.script import CallAnswer, ScriptLimits, run_script
from code_commit_tasks.typescript_names import IDENTIFIER, RESERVED, parameter_names
from code_commit_testing import install_plugin
from code_commit_toolbox.tool import Tool

LIMITS = ScriptLimits(60, 512 * 1024 * 1024, 10)


def tool(properties: dict[str, Any], required: list[str], description: str = "") -> Tool:
    return Tool(
        "f",
        description,
        {"type": "object", "properties": properties, "required": required},
        lambda *_: "",
    )


@pytest.mark.parametrize(
    ("schema", "type_"),
    [
        ({"type": "string"}, "string"),
        ({"type": "integer", "minimum": 1}, "number"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"enum": ["a", 1, None]}, '"a" | 1 | null'),
        ({"const": True}, "true"),
        ({"type": "array", "items": {"type": "string"}}, "string[]"),
        ({"type": "array", "items": {"type": ["string", "number"]}}, "(string | number)[]"),
        ({"type": "array"}, "unknown[]"),
        ({"anyOf": [{"type": "string"}, {"type": "boolean"}]}, "string | boolean"),
        ({"type": "object"}, "Record<string, unknown>"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "Record<string, number>"),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "string"}, "b-c": {}},
                "required": ["a"],
            },
            '{ a: string; "b-c"?: unknown }',
        ),
        ({"$ref": "#/x"}, "unknown"),
        (True, "unknown"),
        ({"type": "mystery"}, "unknown"),
    ],
)
def test_a_schema_is_translated_to_a_type(schema: Any, type_: str) -> None:
    assert typescript(schema) == type_


@pytest.mark.parametrize(
    ("around", "deepest"),
    [
        (lambda inner: {"type": "array", "items": inner}, 8),
        (lambda inner: {"type": ["array"], "items": inner}, 4),
        (lambda inner: {"anyOf": [inner]}, 8),
        (lambda inner: {"type": "object", "properties": {"a": inner}}, 8),
        (lambda inner: {"type": "object", "additionalProperties": inner}, 8),
    ],
)
def test_a_deep_schema_ends_in_an_unknown_type(around: Callable[[Any], Any], deepest: int) -> None:
    schema: Any = {"type": "boolean"}
    for _ in range(deepest):
        schema = around(schema)
    assert "boolean" in typescript(schema)
    assert "boolean" not in typescript(around(schema))


def test_a_declaration_has_the_parameters_and_their_descriptions() -> None:
    function = tool(
        {"path": {"type": "string", "description": "Where."}, "limit": {"type": "integer"}},
        ["path"],
        "Looks.",
    )
    assert declaration(Function(function)) == (
        "/**\n * Looks.\n * @param path Where.\n */\ndeclare function f(path: string, limit?: number): Promise<string>;"
    )


def test_an_optional_parameter_before_a_required_one_may_be_undefined() -> None:
    function = tool({"a": {"type": "string"}, "b": {"type": "string"}}, ["b"])
    assert "f(a: string | undefined, b: string)" in declaration(Function(function, "string[]"))


NAMES = st.text(max_size=8) | st.sampled_from(
    ["new", "new_", "a-b", "a b", "1a", "", "class", "a_b"]
)


@given(st.lists(NAMES, unique=True, max_size=8))
def test_every_property_has_a_unique_name(properties: list[str]) -> None:
    names = parameter_names(properties)
    assert list(names) == properties
    assert len(set(names.values())) == len(properties)
    assert all(IDENTIFIER.fullmatch(name) and name not in RESERVED for name in names.values())


SCHEMAS = st.recursive(
    st.sampled_from(
        [
            {},
            True,
            {"type": "string"},
            {"type": ["null", "integer"]},
            {"enum": ['"', "\n", 1.5]},
            {"const": "*/"},
        ]
    ),
    lambda inner: (
        st.builds(lambda items: {"type": "array", "items": items}, inner)
        | st.builds(lambda several: {"anyOf": several}, st.lists(inner, max_size=3))
        | st.builds(
            lambda schemas: {"type": "object", "properties": schemas},
            st.dictionaries(NAMES, inner, max_size=3),
        )
    ),
    max_leaves=6,
)


@settings(max_examples=15)
@given(
    st.lists(
        st.tuples(st.dictionaries(NAMES, SCHEMAS, max_size=4), st.text(max_size=40)),
        min_size=8,
        max_size=8,
    )
)
def test_every_declaration_is_valid_typescript(
    given_tools: list[tuple[dict[str, Any], str]],
) -> None:
    declared = [
        declaration(Function(tool(properties, [], text))) for properties, text in given_tools
    ]
    code = "\n".join(
        [*declared, "async function agent_code(): Promise<string> { return 'valid'; }"]
    )
    assert run_script(code, [], lambda *_: CallAnswer(""), LIMITS) == "valid"


TOOLS = """
from code_commit.plugin_api import hookimpl


@hookimpl(optionalhook=True)
def code_commit_tools(settings):
    from code_commit_toolbox.tool import Tool

    schema = {"type": "object", "properties": {"the-name": {"type": "string"}, "loud": {"type": "boolean"}},
              "required": ["the-name"], "additionalProperties": False}

    def greet(context, arguments):
        text = "hello " + arguments["the-name"]
        return text.upper() if arguments.get("loud") else text

    yield Tool("greet", "Greets.", schema, greet)
    yield Tool("delete", "A name that code cannot call.", schema, greet)
    yield Tool("list", "A name that is taken.", schema, greet)
"""


def test_tools_of_plugins_can_be_called(work, tmp_path) -> None:
    plugin = install_plugin(tmp_path / "greeter", "greeter", TOOLS)
    work.server.script(
        work.code(
            "return [await greet('a'), await greet('b', true), await greet({'the-name': 'c'}),"
            " await greet(1 as any).catch((e) => e.message)].join('\\n');"
        )
    )
    finished = work(more_plugins=[plugin])
    assert finished.stdout.startswith(
        "hello a\nHELLO B\nhello c\nThe arguments of greet are invalid:"
    )
    prompt = work.server.requests[0].json["messages"][0]["content"]
    assert "declare function greet(the_name: string, loud?: boolean): Promise<string>;" in prompt
    assert "declare function delete" not in prompt
    assert "the tool delete is left out" in finished.stderr
    assert "the tool list is left out" in finished.stderr
