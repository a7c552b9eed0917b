"""The requests of a run: the prompts, with what their size and their echo are judged by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from code_commit.plugin_api import Message, PromptPart, PromptSize, Request, Text
from code_commit_commit.instructions import PromptSections
from code_commit_commit.prompts import Context, Section, initial_prompt, repair_prompt
from code_commit_commit.window import (
    code_part,
    failure_part,
    query_part,
    replacements_part,
    section_part,
)

if TYPE_CHECKING:
    from code_commit.plugin_api import Change, Run
    from code_commit_commit.formats import ChosenFormat


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request with the parts of its prompt.

    `shown` has the parts that the user did not write: a response must not repeat their blocks.
    """

    label: str
    request: Request = field(repr=False)
    parts: tuple[PromptPart, ...]
    shown: tuple[str, ...] = field(repr=False)

    @property
    def size(self) -> PromptSize:
        """The size of the request, for the check of the model's window."""
        return PromptSize.of(self.request, self.parts)


class Prompts:
    """The prompts of a run: the initial one, and one for each repair.

    All of them explain the response format, and have the instructions of plugins.
    """

    def __init__(
        self,
        run: Run,
        context: Context,
        response_format: ChosenFormat,
        instructions: PromptSections,
    ) -> None:
        self._context = context
        self._format = response_format
        self._instructions = instructions
        self._token = run.token
        self._order = run.settings.prompt_order
        # Writing to the cache may cost extra: mark the prompt only if a repair may read it.
        may_repair = run.options.repairs > 0 and not run.options.dry_run
        self._is_marked = self._order == "cached" and may_repair
        self._inputs = (query_part(context.query), code_part(context.codebase))

    def initial(self, sections: Sequence[Section] = ()) -> Prompt:
        """Return the prompt of the first call, with further `sections`."""
        sections = (*self._format.sections, *self._instructions.initial, *sections)
        return Prompt(
            label="initial-query",
            request=self._request(initial_prompt(self._context, self._order, sections)),
            parts=(*self._inputs, *map(section_part, sections)),
            shown=(self._context.codebase, *(section.text for section in sections)),
        )

    def repair(
        self,
        failure: str,
        replacements: Sequence[Change],
        sections: Sequence[Section] = (),
    ) -> Prompt:
        """Return the prompt after a `failure`, with `replacements` and further `sections`."""
        sections = (*self._format.sections, *self._instructions.repair, *sections)
        texts = repair_prompt(
            self._context, failure, replacements, self._token, self._order, sections
        )
        parts = (failure_part(failure), replacements_part(replacements))
        return Prompt(
            label="repair-query",
            request=self._request(texts),
            parts=(*self._inputs, *parts, *map(section_part, sections)),
            shown=(self._context.codebase, failure, *(section.text for section in sections)),
        )

    def _request(self, texts: Sequence[str]) -> Request:
        *same, last = texts
        parts = [Text(text, cache_here=self._is_marked) for text in same]
        return Request(messages=(Message("user", (*parts, Text(last))),))
