"""The instructions of plugins: sections of the prompts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from code_commit.plugin_api import Interrupted, NotReady, describe, require_sync, running
from code_commit_commit.prompts import Section

if TYPE_CHECKING:
    from code_commit.plugin_api import Run
    from code_commit_commit.hooks import Instructions

_HOOK = "code_commit_instructions"


@dataclass(frozen=True, slots=True)
class PromptSections:
    """The sections that the initial prompt and every repair prompt of a run have."""

    initial: tuple[Section, ...] = ()
    repair: tuple[Section, ...] = ()


def read_instructions(run: Run) -> PromptSections:
    """Return the instructions of plugins, a section for each distribution.

    Those for a repair are read now, too, so that an error costs no call.

    Raises:
        NotReady: a plugin failed.
    """
    functions: dict[str, list[Instructions]] = {}
    for distribution, function in run.collect(_HOOK, required=True):
        functions.setdefault(distribution, []).append(function)
    initial, repair = [], []
    for distribution, own in functions.items():
        first = _text(run, distribution, own, "initial")
        later = _text(run, distribution, own, "repair")
        label = f"instructions of {distribution}"
        initial.append(Section(label, first, is_constant=first == later))
        repair.append(Section(label, later, is_constant=first == later))
    return PromptSections(
        tuple(section for section in initial if section.text),
        tuple(section for section in repair if section.text),
    )


def _text(
    run: Run,
    distribution: str,
    functions: Iterable[Instructions],
    kind: Literal["initial", "repair"],
) -> str:
    """Return the texts of a distribution, with an empty line between them.

    Raises:
        NotReady: a function failed, or returned something else.
    """
    try:
        with running("the instructions", distribution):
            texts = [_call(function, run, kind) for function in functions]
    except (Interrupted, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise NotReady(
            f"the instructions of {distribution} are broken: {describe(error)}",
            hint=f"fix or uninstall {distribution}, or use --disable-plugin {distribution}",
        ) from error
    return "\n\n".join(text.rstrip("\n") for text in texts if text.strip())


def _call(function: Instructions, run: Run, kind: Literal["initial", "repair"]) -> str:
    text: Any = require_sync(function(run, kind))  # a plugin's types are unchecked
    if not isinstance(text, str):
        raise TypeError(f"it must return a string, not {type(text).__name__}")
    text.encode()  # a lone surrogate is an error here, not in the call
    return text
