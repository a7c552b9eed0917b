"""The requests of a run: the prompts, with what their size and their echo are judged by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from code_commit.plugin_api import Finish, Message, PromptPart, PromptSize, Request, Text
from code_commit_commit.changed_parts import changed_parts
from code_commit_commit.instructions import PromptSections
from code_commit_commit.prompts import (
    Context,
    Section,
    file_replacements,
    initial_prompt,
    repair_prompt,
)
from code_commit_commit.requested_files import watch_requests
from code_commit_commit.window import (
    code_part,
    failure_part,
    query_part,
    replacements_part,
    section_part,
)

if TYPE_CHECKING:
    from code_commit.plugin_api import Change, Completion, Run, Watch
    from code_commit_commit.formats import ChosenFormat
    from code_commit_commit.partial_code import PartialCode
    from code_commit_commit.seen_files import SeenFiles


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request with the parts of its prompt.

    `shown` has the parts that the user did not write: a response must not repeat their blocks.
    `again` makes this prompt with the code as it is then.
    """

    label: str
    request: Request = field(repr=False)
    parts: tuple[PromptPart, ...]
    shown: tuple[str, ...] = field(repr=False)
    again: Callable[[], Prompt] = field(repr=False)

    @property
    def size(self) -> PromptSize:
        """The size of the request, for the check of the model's window."""
        return PromptSize.of(self.request, self.parts)


class Prompts:
    """The prompts of a run: the initial one, and one for each repair.

    All of them explain the response format, and have the instructions of plugins. With `part`, they
    show a part of the code, which may grow.
    """

    def __init__(
        self,
        run: Run,
        context: Context,
        response_format: ChosenFormat,
        instructions: PromptSections,
        part: PartialCode | None = None,
    ) -> None:
        self._format = response_format
        self._instructions = instructions
        self._part = part
        self._token = run.token
        self._order = run.settings.prompt_order
        # Writing to the cache may cost extra: mark the prompt only if a repair may read it.
        may_repair = run.options.repairs > 0 and not run.options.dry_run
        self._is_marked = self._order == "cached" and may_repair
        self._show(context)

    def copy(self, seen: SeenFiles) -> Prompts:
        """Return the same for another model, which knows what `seen` says."""
        prompts = copy(self)
        if self._part:
            prompts._part = self._part.copy(seen)  # noqa: SLF001 - of this class
        return prompts

    def initial(self, sections: Sequence[Section] = ()) -> Prompt:
        """Return the prompt of the first call, with further `sections`."""
        again = partial(self.initial, sections)
        sections = (
            *self._format.sections,
            *self._instructions.initial,
            *self._of_part,
            *sections,
        )
        return Prompt(
            label="initial-query",
            request=self._request(initial_prompt(self._context, self._order, sections)),
            parts=(*self._inputs, *map(section_part, sections)),
            shown=(self._context.codebase, *(section.text for section in sections)),
            again=again,
        )

    def repair(
        self,
        failure: str,
        replacements: Sequence[Change],
        sections: Sequence[Section] = (),
    ) -> Prompt:
        """Return the prompt after a `failure`, with `replacements` and further `sections`."""
        if self._part:
            self._part.follow(failure, replacements)
            self._show(self._part.context)
        return self._repair(failure, replacements, sections)

    def watch(self, changes: Watch | None) -> Watch | None:
        """Return `changes`, or a `Watch` that also knows requests for files."""
        return watch_requests(changes) if self._part else changes

    def following(self, prompt: Prompt, completion: Completion) -> Prompt | None:
        """Return `prompt` with the files that a response asks for, or None if it asks for none.

        Raises:
            MalformedResponse: the request is malformed, or one too many.
        """
        if self._part is None or completion.finish not in {Finish.STOP, Finish.STOPPED_EARLY}:
            return None
        if not self._part.take_request(completion.text):
            return None
        self._show(self._part.context)
        return prompt.again()

    def _repair(
        self,
        failure: str,
        replacements: Sequence[Change],
        sections: Sequence[Section],
    ) -> Prompt:
        again = partial(self._repair, failure, replacements, sections)
        sections = (
            *self._format.sections,
            *self._instructions.repair,
            *self._of_part,
            *sections,
        )
        replaced = self._describe(replacements)
        texts = repair_prompt(self._context, failure, replaced, self._token, self._order, sections)
        parts = (failure_part(failure), replacements_part(replaced))
        return Prompt(
            label="repair-query",
            request=self._request(texts),
            parts=(*self._inputs, *parts, *map(section_part, sections)),
            shown=(self._context.codebase, failure, *(section.text for section in sections)),
            again=again,
        )

    def _show(self, context: Context) -> None:
        """Take `context` for the next prompts."""
        self._context = context
        self._inputs = (query_part(context.query), code_part(context.codebase))

    @property
    def _of_part(self) -> tuple[Section, ...]:
        """The section about the code that the next prompt does not show, if any."""
        return self._part.sections if self._part else ()

    def _describe(self, replacements: Sequence[Change]) -> str:
        if self._format.is_partial:
            return changed_parts(replacements, self._context.codebase)
        return file_replacements(replacements)

    def _request(self, texts: Sequence[str]) -> Request:
        *same, last = texts
        parts = [Text(text, cache_here=self._is_marked) for text in same]
        return Request(messages=(Message("user", (*parts, Text(last))),))
