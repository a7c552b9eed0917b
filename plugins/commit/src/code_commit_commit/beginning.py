"""The beginning of a run: its inputs, and the first prompt."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from code_commit.plugin_api import MessageLogged
from code_commit_commit.code_choice import CodeChoice, code_choice
from code_commit_commit.contexts import with_hint_of_context
from code_commit_commit.current_code import paths_to_collect
from code_commit_commit.formats import ChosenFormat, choose_format
from code_commit_commit.inputs import (
    fit_of,
    read_code,
    read_query,
    require_unchanged_choice,
)
from code_commit_commit.instructions import PromptSections, read_instructions
from code_commit_commit.partial_code import PartialCode
from code_commit_commit.recorded_rollup import NO_PATTERNS, Patterns, rollup_patterns
from code_commit_commit.request import Prompt, Prompts
from code_commit_commit.window import CODE, PromptTooLong

if TYPE_CHECKING:
    from code_commit.plugin_api import Run
    from code_commit_commit.prompts import Context
    from code_commit_commit.seen_files import SeenFiles


@dataclass(frozen=True, slots=True)
class Beginning:
    """The inputs of a run, what the model knows of each file, and the first prompt."""

    context: Context = field(repr=False)
    seen: SeenFiles
    response_format: ChosenFormat
    prompts: Prompts
    prompt: Prompt

    def copy(self) -> Beginning:
        """Return the same for another model, whose prompts may show other files later."""
        seen = self.seen.copy()
        prompts = self.prompts.copy(seen)
        return replace(self, seen=seen, prompts=prompts, prompt=prompts.initial())


def begin(run: Run) -> Beginning:
    """Read the inputs, and make the first prompt.

    It has all of the code if that fits the model's window; else, or if flags or settings ask for
    it, the files that a context selects.

    Raises:
        UsageError: a flag names a file or a context that is not there.
        NotReady: an input is missing, or the prompt does not fit.
    """
    choice = code_choice(run)
    query = read_query(run)
    sections = read_instructions(run)
    if choice.is_recorded:
        require_unchanged_choice(run)
    if choice.selects:
        return _with_part(run, query, choice, sections, rollup_patterns(run.tree) or NO_PATTERNS)
    try:
        return _with_all(run, query, sections, choice)
    except PromptTooLong as error:
        patterns = rollup_patterns(run.tree)
        if patterns is None or not choice.may_select:
            raise with_hint_of_context(error, choice.setting, choice.context) from error
        run.emit(MessageLogged(f"not all of the code is sent: {error.message}"))
    return _with_part(run, query, choice, sections, patterns)


def _with_all(
    run: Run,
    query: str,
    sections: PromptSections,
    choice: CodeChoice,
) -> Beginning:
    """Begin with all of the code, or with the rollup as it is.

    Raises:
        PromptTooLong: the prompt does not fit, because of the code.
        NotReady: it does not fit for another reason; or there is no code, or it changed since the
            rollup.
    """
    is_ours = rollup_patterns(run.tree) is not None  # of another rollup, no files can be selected
    require_fit = fit_of(run, choice.most_code if is_ours else None)
    context, seen = read_code(run, query, lambda: not choice.may_select, require_fit)
    response_format = choose_format(run, context.codebase)
    prompts = Prompts(run, context, response_format, sections)
    prompt = prompts.initial()
    largest = max(prompt.parts, key=lambda part: part.tokens)
    if largest.name != CODE:
        require_fit = run.model().require_fit
    require_fit(prompt.size)
    return Beginning(context, seen, response_format, prompts, prompt)


def _with_part(
    run: Run,
    query: str,
    choice: CodeChoice,
    sections: PromptSections,
    patterns: Patterns,
) -> Beginning:
    """Begin with the files that a context selects among those that match `patterns`.

    Raises:
        NotReady: there are none, the context failed, or the prompt does not fit.
    """
    visible, paths = paths_to_collect(run, *patterns)
    part = PartialCode(run, query, choice, visible, paths)
    response_format = choose_format(run, part.context.codebase)
    prompts = Prompts(run, part.context, response_format, sections, part)
    prompt = prompts.initial()
    run.model().require_fit(prompt.size)
    include, exclude = patterns
    recorded = {"include": include, "exclude": exclude, "choice": part.choice.document}
    run.keep("input-choice.json", json.dumps(recorded))
    return Beginning(part.context, part.seen, response_format, prompts, prompt)
