"""Build the prompts: the system prompt, and the task or step with its context."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from code_commit_tasks.declarations import declarations
from code_commit_tasks.functions import Function
from code_commit_tasks.task_list import (
    CommandSucceeds,
    ExitRequirement,
    FileContains,
    FileExists,
    JsonValid,
    NoErrorsIn,
    PatternFound,
    TaskStep,
    Validated,
)
from code_commit_toolbox.shortening import head_and_tail

_CODE_SHOWN = 32 * 1024  # characters of the code of a failed attempt
_OUTPUT_SHOWN = 16 * 1024  # characters of its output and of the reason


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why the previous attempt failed; `output` is its result and printed text."""

    reason: str
    code: str = field(default="", repr=False)
    output: str = field(default="", repr=False)


def system_prompt(functions: Iterable[Function]) -> str:
    """Return the prompt of seed 004, word for word, with the declarations of `functions`."""
    text = (files("code_commit_tasks") / "system_prompt.txt").read_text("utf-8")
    return text.replace("{tool_signatures}", declarations(functions))


def task_prompt(description: str, failure: Failure | None, token: str) -> tuple[str, str]:
    """Return the prompt for the task itself: the part that all attempts share, and the failure."""
    return _labelled("task", description), _last_attempt(failure, token)


def step_prompt(
    step: TaskStep,
    part_of: str,
    context: Sequence[str],
    failure: Failure | None,
    token: str,
) -> tuple[str, str]:
    """Return the prompt for a step, as `task_prompt` does.

    `part_of` describes its place; `context` are sections.
    """
    head = f"Title: {step.title}\nType: {step.step_type}\n{part_of}\n\n{step.description}"
    requirement = _labelled("exit requirement", describe_requirement(step.exit_requirement))
    shared = "\n".join([_labelled("task", head), requirement, *context])
    return shared, _last_attempt(failure, token)


def describe_requirement(requirement: ExitRequirement) -> str:  # noqa: PLR0911 - one per kind
    """Describe an exit requirement."""
    match requirement:
        case PatternFound(pattern=pattern):
            return f"The returned string matches this regular expression: {pattern}"
        case Validated(validator=name):
            return f"The validator {name} finds no problem."
        case FileExists(args=args):
            return f"There is a file or folder {args.path}."
        case FileContains(args=args):
            contained = "this text, or a match of it as a regular expression"
            return f"The file {args.path} contains {contained}: {args.pattern}"
        case CommandSucceeds(args=args):
            return f"This command ends with exit code 0: {args.cmd}"
        case JsonValid(args=args):
            return f"{_checked_text(args.content)} is valid JSON."
        case NoErrorsIn(args=args):
            return f"{_checked_text(args.output)} contains no error message."


def _checked_text(text: str | None) -> str:
    return "The returned string" if text is None else "The text in the requirement"


def fenced(text: str, token: str) -> str:
    """Delimit untrusted `text` by two lines that it cannot predict."""
    return f"--- {token} ---\n{_ended(text)}--- {token} ---\n"


def _last_attempt(failure: Failure | None, token: str) -> str:
    if failure is None:
        return ""
    reason = head_and_tail(failure.reason, _OUTPUT_SHOWN)
    pieces = ["\n" + _labelled("the last attempt failed", fenced(reason, token))]
    if failure.code:
        code = head_and_tail(failure.code, _CODE_SHOWN)
        pieces.append(_labelled("its code", fenced(code, token)))
    if failure.output:
        output = head_and_tail(failure.output, _OUTPUT_SHOWN)
        pieces.append(_labelled("its output", fenced(output, token)))
    return "\n".join(pieces)


def _labelled(label: str, text: str) -> str:
    return f"[{label}]\n{_ended(text)}"


def _ended(text: str) -> str:
    if not text or text.endswith("\n"):
        return text
    return text + "\n"
