"""The prompts of the commit workflow.

They are the texts of the seeds in the order of seed 002, with the query and the code.

Each prompt is a tuple of texts without separators. In the order "cached" there are two: the first
is the same in every prompt of a run, so that a service reads it from its cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Literal

from code_commit.plugin_api import Change, ProcessResult, protected_list

PromptOrder = Literal["standard", "cached"]
SYSTEM_PROMPTS = (
    "project_structure",
    "code_modification_instructions",
    "initial_query",
    "repair_query",
)


@dataclass(frozen=True, slots=True)
class Context:
    """The query and the code rollup, both unmodified."""

    query: str = field(repr=False)
    codebase: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Section:
    """A further text of the prompts, after the seeds' sentences and under its own label.

    `is_constant` means that every prompt of the run has it: the order "cached" puts it first.
    """

    label: str
    text: str = field(repr=False)
    is_constant: bool = False


def system_prompt(name: str) -> str:
    """Return one of `SYSTEM_PROMPTS`, with the protected list and a final newline."""
    text = (files("code_commit_commit") / "system_prompts" / f"{name}.txt").read_text("utf-8")
    return text.replace("{protected_list}", protected_list())


def initial_prompt(
    context: Context,
    order: PromptOrder = "standard",
    sections: Sequence[Section] = (),
) -> tuple[str, ...]:
    """Return the prompt of the first call (seed 002, "The Initial Query")."""
    if order == "cached":
        last = _joined(system_prompt("initial_query"), *_changing(sections))
        return _same_in_all(context, sections), last
    whole = _joined(
        system_prompt("project_structure"),
        system_prompt("code_modification_instructions"),
        system_prompt("initial_query"),
        *_texts(sections),
        *_labelled("query", context.query),
        *_labelled("codebase", context.codebase),
    )
    return (whole,)


def repair_prompt(
    context: Context,
    failure: str,
    replaced: str,
    token: str,
    order: PromptOrder = "standard",
    sections: Sequence[Section] = (),
) -> tuple[str, ...]:
    """Return the prompt of a repair (seed 002, "Running the Build").

    `failure` is the build's output, or the reason why the last response could not be applied. Two
    lines with `token` delimit it. The token itself is removed from it, because a build could read
    the token in the run log. `replaced` has the latest replacements, as `file_replacements` shows
    them.
    """
    failure = failure.replace(token, "…")
    output = _labelled("build.sh output", f"--- {token} ---\n{_ended(failure)}--- {token} ---\n")
    replacements = _labelled("file replacements", replaced)
    if order == "cached":
        own = (system_prompt("repair_query"), *_changing(sections))
        return _same_in_all(context, sections), _joined(*own, *output, *replacements)
    whole = _joined(
        system_prompt("project_structure"),
        system_prompt("code_modification_instructions"),
        system_prompt("repair_query"),
        *_texts(sections),
        *output,
        *_labelled("query", context.query),
        *_labelled("codebase", context.codebase),
        *replacements,
    )
    return (whole,)


def _same_in_all(context: Context, sections: Sequence[Section]) -> str:
    """Return the beginning of every prompt of a run, in the order "cached"."""
    return _joined(
        system_prompt("project_structure"),
        system_prompt("code_modification_instructions"),
        *_texts(section for section in sections if section.is_constant),
        *_labelled("query", context.query),
        *_labelled("codebase", context.codebase),
        "",
    )


def _changing(sections: Iterable[Section]) -> Iterator[str]:
    return _texts(section for section in sections if not section.is_constant)


def _texts(sections: Iterable[Section]) -> Iterator[str]:
    for section in sections:
        yield from _labelled(section.label, section.text)


def file_replacements(replacements: Iterable[Change]) -> str:
    """Return the files replaced and removed so far, as the prompts show them, sorted by path."""
    shown = []
    for change in sorted(replacements, key=lambda change: change.path):
        if change.content is None:
            shown.append(f"--- FILE REMOVED {change.path} ---\n")
        else:
            text = change.content.decode("utf-8", "replace")
            shown.append(f"--- FILE REPLACEMENT {change.path} ---\n{_ended(text)}")
    return "".join(shown)


def failure_text(
    unusable: str,
    red: ProcessResult | None,
    returned: str = "",
    cannot_run: str = "",
    not_accepted: str = "",
) -> str:
    """Return why an attempt failed.

    That is why its response is `unusable`, and the output of the latest build, `red`.

    `returned` has the files that came back to the model because it had not seen them. `cannot_run`
    is why `build.sh` cannot run on the files as they are. `not_accepted` is why an acceptance check
    refuses a change whose build is green.
    """
    pieces = []
    if unusable:
        pieces.append(
            "The last response could not be applied, and build.sh was not run. "
            f"The reason:\n{unusable}\n"
        )
    if returned:
        pieces.append(returned)
    if cannot_run:
        pieces.append(
            f"After an earlier response, {cannot_run}\n" if unusable else f"{cannot_run}\n"
        )
    elif not_accepted:
        pieces.append(
            f"build.sh passed, but the change is not accepted. The reason:\n{_ended(not_accepted)}"
        )
    elif red and unusable:
        pieces.append("The latest output of build.sh, which was run after an earlier response:\n")
    if red and not (cannot_run or not_accepted):
        pieces.append(f"{build_end(red)}\n\n{_ended(red.output.decode('utf-8', 'replace'))}")
    return "\n".join(pieces)


def build_end(result: ProcessResult) -> str:
    """Return how a build ended, for the model and for people."""
    return f"build.sh {result.ending}"


def _labelled(label: str, text: str) -> tuple[str, str]:
    return f"[{label}]", _ended(text)  # two texts: joining them would copy a large codebase


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _joined(*pieces: str) -> str:
    return "\n".join(pieces)
