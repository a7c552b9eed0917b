"""The types of the seed's prompt: a list of steps, each with an exit requirement and the context it asks for."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

_TOLD = 8  # errors at once
_LONGEST_PATTERN = 2000  # characters
_LONGEST_VALUE = 80  # characters of what was wrong

Words = Annotated[str, Field(min_length=1, pattern=r"\S")]
Pattern = Annotated[str, Field(min_length=1, max_length=_LONGEST_PATTERN)]


def _not_null(value: Any) -> Any:
    if value is None:
        raise ValueError("null is no string; leave it out")
    return value


TextIfGiven = Annotated[str | None, BeforeValidator(_not_null)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


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
    """There is a file."""

    type: Literal["callback"]
    function_name: Literal["file_exists"]
    args: _Path


class FileContains(_Strict):
    """A file contains a text, taken literally first, then as a regular expression."""

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
    """A text, or the step's result, tells of no error."""

    type: Literal["callback"]
    function_name: Literal["no_errors_in"]
    args: _Output = _Output()


class PatternFound(_Strict):
    """A regular expression is found in the step's result."""

    type: Literal["pattern"]
    pattern: Pattern


class Validated(_Strict):
    """A validator, by its name, has nothing to object to."""

    type: Literal["validation"]
    validator: Words


Callback = Annotated[
    FileExists | FileContains | CommandSucceeds | JsonValid | NoErrorsIn, Field(discriminator="function_name")
]
ExitRequirement = Annotated[Callback | PatternFound | Validated, Field(discriminator="type")]


class FilePattern(_Strict):
    """Files of the project, by a pattern from its root."""

    pattern: Words
    recursive: bool = False


class ContextSpec(_Strict):
    """What a step asks to be shown. Previous steps are counted from 0."""

    files: list[FilePattern] = []
    previous_steps: list[Annotated[int, Field(ge=0)]] = []
    explicit_content: str = ""


class TaskStep(_Strict):
    """One step."""

    title: Words
    description: Words
    step_type: Literal["research", "planning", "implementation", "validation", "documentation"]
    exit_requirement: ExitRequirement
    context: ContextSpec = ContextSpec()


class TaskList(_Strict):
    """A task taken apart."""

    title: Words
    steps: Annotated[list[TaskStep], Field(min_length=1)]


class MalformedTaskList(Exception):  # noqa: N818 - what it is, not that it is an error
    """An object that is no TaskList. The message is for the model that gets another attempt."""


def task_list(value: Any) -> TaskList:
    """Return `value` as a list of steps.

    Raises:
        MalformedTaskList: a type is wrong, a field is missing or unknown, or a step asks for the result of itself, of
            a later step, or of one that does not exist.
    """
    try:
        found = TypeAdapter(TaskList).validate_python(value)
    except ValidationError as error:
        raise MalformedTaskList(_told(error)) from None
    for index, step in enumerate(found.steps):
        for previous in step.context.previous_steps:
            if previous >= index:
                raise MalformedTaskList(
                    f"steps[{index}].context.previous_steps names step {previous}, counted from 0, "
                    f"which does not come before step {index}"
                )
    return found


def _told(error: ValidationError) -> str:
    errors = error.errors(include_url=False, include_context=False)
    told = [f"- {_place(each['loc'])}: {each['msg']}{_value(each)}" for each in errors[:_TOLD]]
    if len(errors) > _TOLD:
        told.append(f"- and {len(errors) - _TOLD} more")
    return "\n".join(["The object that agent_code returned is no TaskList:", *told])


def _place(where: tuple[int | str, ...]) -> str:
    tags = {"callback", "pattern", "validation"}  # pydantic's words for which of several types was meant
    names = {"file_exists", "file_contains", "command_succeeds", "json_valid", "no_errors_in"}
    kept = [
        each
        for number, each in enumerate(where)
        if not (number and where[number - 1] == "exit_requirement" and each in tags)
        and not (number > 1 and where[number - 2] == "exit_requirement" and each in names)
    ]
    words = [f"[{each}]" if isinstance(each, int) else f".{each}" for each in kept]
    return "".join(words).removeprefix(".") or "all of it"


def _value(error: Any) -> str:
    if error["type"] == "missing" or isinstance(error["input"], dict | list):
        return ""
    shown = repr(error["input"])
    return f" (not {shown if len(shown) <= _LONGEST_VALUE else shown[: _LONGEST_VALUE - 1] + '…'})"
