"""Which objects are valid lists of steps."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_commit_tasks.task_list import MalformedTaskList, task_list

STEP: dict[str, Any] = {
    "title": "t",
    "description": "d",
    "step_type": "research",
    "exit_requirement": {
        "type": "callback",
        "function_name": "file_contains",
        "args": {"path": "a", "pattern": "b"},
    },
    "context": {
        "files": [{"pattern": "src/**/*.rs", "recursive": True}],
        "previous_steps": [0],
        "explicit_content": "x",
    },
}
FIRST = {**STEP, "context": {}}
LIST = {"title": "whole", "steps": [FIRST, STEP]}
PLACES = [
    ("title",),
    ("steps",),
    ("steps", 1),
    *(
        ("steps", 1, name)
        for name in ("title", "description", "step_type", "exit_requirement", "context")
    ),
    *(("steps", 1, "exit_requirement", name) for name in ("type", "function_name", "args")),
    *(("steps", 1, "exit_requirement", "args", name) for name in ("path", "pattern")),
    *(("steps", 1, "context", name) for name in ("files", "previous_steps", "explicit_content")),
    ("steps", 1, "context", "files", 0),
    *(("steps", 1, "context", "files", 0, name) for name in ("pattern", "recursive")),
    ("steps", 1, "context", "previous_steps", 0),
]
OTHERS: list[Any] = [None, True, 7, 1.5, "words", [], ["words"], {}, {"a": 1}]
VALID_TYPES = {
    "title": str,
    "description": str,
    "path": str,
    "pattern": str,
    "explicit_content": str,
    "recursive": bool,
}


def replaced(place: tuple[int | str, ...], value: Any) -> dict[str, Any]:
    whole = copy.deepcopy(LIST)
    spot: Any = whole
    for part in place[:-1]:
        spot = spot[part]
    spot[place[-1]] = value
    return whole


def is_valid(place: tuple[int | str, ...], value: Any) -> bool:
    name = place[-1]
    if place[-2:] == ("context", "files") or name == "previous_steps":
        return value == []
    if name in VALID_TYPES:
        return isinstance(value, VALID_TYPES[name])
    return name == "context" and value == {}


@pytest.mark.parametrize(
    ("name", "argument"), [("json_valid", "content"), ("no_errors_in", "output")]
)
def test_an_optional_field_must_not_be_null(name: str, argument: str) -> None:
    callback = {"type": "callback", "function_name": name}
    for more in ({}, {"args": {}}, {"args": {argument: "x"}}):
        assert task_list(replaced(("steps", 1, "exit_requirement"), {**callback, **more}))[0].steps
    with pytest.raises(MalformedTaskList, match=argument):
        task_list(
            replaced(("steps", 1, "exit_requirement"), {**callback, "args": {argument: None}})
        )


def test_a_complete_list_is_valid() -> None:
    assert [step.title for step in task_list(LIST)[0].steps] == ["t", "t"]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
@pytest.mark.parametrize("value", OTHERS, ids=repr)
def test_a_wrong_type_in_any_field_is_an_error(place: tuple[int | str, ...], value: Any) -> None:
    whole = replaced(place, value)
    if is_valid(place, value):
        task_list(whole)
        return
    with pytest.raises(MalformedTaskList):
        task_list(whole)


@pytest.mark.parametrize(
    "place", [place for place in PLACES if isinstance(place[-1], str)], ids=str
)
def test_a_missing_required_field_is_an_error(place: tuple[int | str, ...]) -> None:
    whole = replaced(place, None)
    spot: Any = whole
    for part in place[:-1]:
        spot = spot[part]
    del spot[place[-1]]
    if place[-1] in {"context", "files", "previous_steps", "explicit_content", "recursive"}:
        task_list(whole)
        return
    with pytest.raises(MalformedTaskList):
        task_list(whole)


@pytest.mark.parametrize(
    "place",
    [
        ("steps", 1, "exit_requirement"),
        ("steps", 1, "exit_requirement", "args"),
        ("steps", 1, "context"),
    ],
    ids=str,
)
def test_an_unknown_field_is_an_error(place: tuple[int | str, ...]) -> None:
    with pytest.raises(MalformedTaskList, match="extra"):
        task_list(replaced((*place, "extra"), 1))


def test_an_unknown_field_of_a_step_is_ignored_and_noted() -> None:
    steps, note = task_list(replaced(("steps", 1, "depends_on"), [0]) | {"id": 7})
    assert steps == task_list(LIST)[0]
    assert note == "id: unknown field; ignored; steps[1].depends_on: unknown field; ignored"


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("steps", 1, "contexts"), {}, r"steps\[1\]\.contexts: .* is called context"),
        (("Title",), "x", "Title: unknown field; the field is called title"),
        (("steps",), [], "steps"),
        (("steps", 1, "title"), "  ", r"steps\[1\]\.title"),
        (("steps", 1, "step_type"), "coding", r"steps\[1\]\.step_type"),
        (
            ("steps", 1, "exit_requirement", "function_name"),
            "file_gone",
            r"steps\[1\]\.exit_requirement",
        ),
        (
            ("steps", 1, "exit_requirement", "args", "path"),
            3,
            r"steps\[1\]\.exit_requirement\.args\.path",
        ),
        (("steps", 1, "exit_requirement"), {"type": "promise"}, r"steps\[1\]\.exit_requirement"),
        (("steps", 1, "exit_requirement"), {"type": "pattern", "pattern": "x" * 3000}, "pattern"),
        (("steps", 1, "context", "previous_steps"), [2], "does not come before"),
        (("steps", 1, "context", "previous_steps"), [-1], r"previous_steps\[0\]"),
        (("steps", 0, "context"), {"previous_steps": [0, 1]}, "does not come before"),
    ],
)
def test_the_error_names_the_place(place: tuple[int | str, ...], value: Any, message: str) -> None:
    with pytest.raises(MalformedTaskList, match=message):
        task_list(replaced(place, value))


def test_a_step_cannot_get_its_own_result() -> None:
    """The template in the prompt has a first step with `previous_steps: [0]`."""
    parsed, note = task_list(replaced(("steps", 0, "context"), {"previous_steps": [0]}))
    assert (parsed.steps[0].context.previous_steps, note) == (
        [],
        "steps[0]: a step cannot get its own result; ignored",
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["title", "steps", "type", "args", "context"]), inner, max_size=4
        )
    ),
    max_leaves=10,
)


@given(JSON, st.sampled_from(PLACES))
def test_any_value_is_accepted_or_rejected(value: Any, place: tuple[int | str, ...]) -> None:
    try:
        assert task_list(replaced(place, value))[0].steps
    except MalformedTaskList as problem:
        assert str(problem)  # noqa: PT017 - either way is right
