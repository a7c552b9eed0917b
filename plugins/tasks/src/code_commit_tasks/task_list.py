"""The types that the prompt declares: steps with their exit requirements and context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from code_commit.plugin_api import shorten

_MOST_ERRORS = 8  # errors in one message
_LONGEST_PATTERN = 2000  # characters
_LONGEST_VALUE = 80  # characters of a wrong value

Words = Annotated[str, Field(min_length=1, pattern=r"\S")]
Pattern = Annotated[str, Field(min_length=1, max_length=_LONGEST_PATTERN)]


def _not_null(value: Any) -> Any:
    if value is None:
        raise ValueError("null is not a string; leave it out")
    return value


TextIfGiven = Annotated[str | None, BeforeValidator(_not_null)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class _Open(_Strict):
    """Ignores other fields: nothing depends on them. `task_list` notes them."""

    model_config = ConfigDict(extra="ignore")


class _Path(_Strict):
    path: Words


class _PathAndPattern(_Strict):
    path: Words
    pattern: Pattern


class _Command(_Strict):
    cmd: Words


class _Content(_Strict):
    content: TextIfGiven = None


class _Output(_Strict):
    output: TextIfGiven = None


class FileExists(_Strict):
    """A file exists."""

    type: Literal["callback"]
    function_name: Literal["file_exists"]
    args: _Path


class FileContains(_Strict):
    """A file contains a text, literally or as a regular expression."""

    type: Literal["callback"]
    function_name: Literal["file_contains"]
    args: _PathAndPattern


class CommandSucceeds(_Strict):
    """A command ends with exit code 0."""

    type: Literal["callback"]
    function_name: Literal["command_succeeds"]
    args: _Command


class JsonValid(_Strict):
    """A text, or the step's result, is JSON."""

    type: Literal["callback"]
    function_name: Literal["json_valid"]
    args: _Content = _Content()


class NoErrorsIn(_Strict):
    """A text, or the step's result, contains no error."""

    type: Literal["callback"]
    function_name: Literal["no_errors_in"]
    args: _Output = _Output()


class PatternFound(_Strict):
    """The step's result matches a regular expression."""

    type: Literal["pattern"]
    pattern: Pattern


class Validated(_Strict):
    """The named validator finds no problem."""

    type: Literal["validation"]
    validator: Words


Callback = Annotated[
    FileExists | FileContains | CommandSucceeds | JsonValid | NoErrorsIn,
    Field(discriminator="function_name"),
]
ExitRequirement = Annotated[Callback | PatternFound | Validated, Field(discriminator="type")]


class FilePattern(_Strict):
    """Files of the project, by a pattern relative to its root."""

    pattern: Words
    recursive: bool = False


class ContextSpec(_Strict):
    """The requested context of a step. Previous steps are counted from 0."""

    files: list[FilePattern] = []
    previous_steps: list[Annotated[int, Field(ge=0)]] = []
    explicit_content: str = ""


class TaskStep(_Open):
    """One step."""

    title: Words
    description: Words
    step_type: Literal["research", "planning", "implementation", "validation", "documentation"]
    exit_requirement: ExitRequirement
    context: ContextSpec = ContextSpec()


class TaskList(_Open):
    """A task divided into steps."""

    title: Words
    steps: Annotated[list[TaskStep], Field(min_length=1)]


class MalformedTaskList(Exception):  # noqa: N818 - named after the object
    """The object is not a TaskList. The message is for the model's next attempt."""


def task_list(value: Any) -> tuple[TaskList, str]:
    """Parse `value` as a list of steps; return it with a note about what was ignored, or "".

    A step that requests its own result, as the first one in the prompt's template does, does not
    get it. An unknown field of the list or of a step is ignored, unless it may be a misspelled one.

    Raises:
        MalformedTaskList: a type is wrong, a field is missing or unknown, or a step requests the
            result of a later step or of one that does not exist.
    """
    try:
        steps = TypeAdapter(TaskList).validate_python(value)
    except ValidationError as error:
        raise MalformedTaskList(_format_errors(error)) from None
    notes = list(_unknown_fields(value))
    ignored = []
    for index, step in enumerate(steps.steps):
        requested = step.context.previous_steps
        if later := [number for number in requested if number > index]:
            raise MalformedTaskList(
                f"steps[{index}].context.previous_steps names step {later[0]}, counted from 0, "
                f"which does not come before step {index}"
            )
        if index in requested:
            ignored.append(f"steps[{index}]")
            requested[:] = [number for number in requested if number != index]
    if ignored:
        notes.append(f"{', '.join(ignored)}: a step cannot get its own result; ignored")
    return steps, "; ".join(notes)


def _unknown_fields(value: Any) -> Iterator[str]:
    """Yield notes about the fields of a valid list that are ignored.

    Raises:
        MalformedTaskList: a name is like that of a known field.
    """
    yield from _ignored(value, TaskList, "")
    for index, step in enumerate(value["steps"]):
        yield from _ignored(step, TaskStep, f"steps[{index}].")


def _ignored(fields: Mapping[str, Any], model: type[BaseModel], place: str) -> Iterator[str]:
    known = model.model_fields
    unknown = [name for name in fields if name not in known]
    for name in unknown[:_MOST_ERRORS]:
        if close := get_close_matches(name.casefold(), known):
            raise MalformedTaskList(
                "The object that agent_code returned is not a TaskList:\n"
                f"- {place}{name}: unknown field; the field is called {close[0]}"
            )
        yield f"{place}{shorten(name, _LONGEST_VALUE)}: unknown field; ignored"


def _format_errors(error: ValidationError) -> str:
    errors = error.errors(include_url=False, include_context=False)
    lines = [
        f"- {_place(details['loc'])}: {details['msg']}{_value(details)}"
        for details in errors[:_MOST_ERRORS]
    ]
    if len(errors) > _MOST_ERRORS:
        lines.append(f"- and {len(errors) - _MOST_ERRORS} more")
    return "\n".join(["The object that agent_code returned is not a TaskList:", *lines])


def _place(path: tuple[int | str, ...]) -> str:
    """Return the place of an error, without pydantic's tags for the members of a union."""
    tags = {"callback", "pattern", "validation"}
    names = {"file_exists", "file_contains", "command_succeeds", "json_valid", "no_errors_in"}
    words = []
    for index, part in enumerate(path):
        above = path[max(0, index - 2) : index]
        if above[-1:] == ("exit_requirement",) and part in tags:
            continue
        if above[:-1] == ("exit_requirement",) and part in names:
            continue
        words.append(f"[{part}]" if isinstance(part, int) else f".{part}")
    return "".join(words).removeprefix(".") or "the whole object"


def _value(details: Any) -> str:
    value = details["input"]
    if details["type"] == "missing" or isinstance(value, dict | list):
        return ""
    shown = repr(value)
    if len(shown) > _LONGEST_VALUE:
        shown = shown[: _LONGEST_VALUE - 1] + "…"
    return f" (not {shown})"
