"""The hooks of the commit workflow, and their records: the only module that plugins import.

    from code_commit.plugin_api import hookimpl
    from code_commit_commit.hooks import Context

    @hookimpl(optionalhook=True)
    def code_commit_contexts(settings):
        return [Context("changed", "the files of the last commit", choose)]

Without plugins that implement them, prompts and behavior stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from code_commit_commit.hookspecs import (  # noqa: F401 - here is where plugins find them
    code_commit_contexts,
    code_commit_formats,
    code_commit_instructions,
)

if TYPE_CHECKING:  # only for annotations
    from code_commit.plugin_api import Change, Model, PromptSize, Refusal, Run, Tree


class MalformedResponse(Exception):  # noqa: N818 - names a kind of response
    """The text does not follow the response format.

    The message is for the model that repairs it.
    """


class Project(Protocol):
    """The project that a context chooses from: a `Run`, or that of `code-commit rollup`."""

    @property
    def tree(self) -> Tree:
        """The files that a model may see."""

    def git(
        self,
        *args: str,
        stdin: bytes = b"",
        check: bool = True,
        most: int | None = None,
    ) -> bytes:
        """Run git, and return its standard output; see `Run.git`."""

    def may_read(self, path: str) -> Refusal | None:
        """Return why a model may not read `path`, or None if it may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """What a context chooses files for.

    `paths` are the files to choose from, sorted: those that `code-commit rollup` collects. `tokens`
    is the budget, by `estimate_tokens`. `named` are the files of `--files`; they come before any
    other, so a context need not choose them. `model` returns the model of a role; it is None for
    `code-commit rollup`, which makes no call.
    """

    project: Project
    query: str = field(repr=False)
    paths: Sequence[str] = field(repr=False)
    tokens: int
    named: Sequence[str] = ()
    model: Callable[[str], Model] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The files that the model sees, best first.

    The prompt has those of `paths` that fit the budget whole, then a line for each file of `map`:
    its path and the names that it defines. `reason` says for people how they were chosen.
    """

    paths: Sequence[str] = field(repr=False)
    map: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Context:
    """A way to choose the files that the model sees: `--context NAME`.

    `related` returns further files for a repair, best first, after a `failure` of changes to
    `changed` paths; it makes no call.
    """

    name: str
    help: str
    choose: Callable[[ContextRequest], Selection]
    related: Callable[[ContextRequest, str, Sequence[str]], Sequence[str]] | None = None


@dataclass(frozen=True, slots=True)
class ResponseFormat:
    """A way in which a response names changes: `--format NAME`.

    `instructions` is the section `[response format]` of the prompts, after the usual text. `parse`
    returns the changes of a whole response, with the whole new content of each file; `tree` has the
    files as they are. It is pure, takes linear time, never guesses, and raises `MalformedResponse`.
    Its message may quote files: the model gets it only if it may see the files that `parse` read.

    `watch` takes the largest number of files of a response, and returns a function for one response
    that arrives in pieces. The function returns None, or the position where the response is known
    to be malformed, whatever follows; `parse` refuses the text up to there.

    `is_partial` means that a response can change parts of a file: a repair then shows parts of
    large files.
    """

    name: str
    help: str
    instructions: str = field(repr=False)
    parse: Callable[[str, Tree], Sequence[Change]]
    watch: Callable[[int], Callable[[str], int | None]] | None = None
    is_partial: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a response: `^^^path`, its content, `^^^end`.

    `content` is in UTF-8, and None for `^^^delete`. `line` is the number of its first line in the
    response.
    """

    path: str
    content: bytes | None = field(repr=False)
    line: int


def read_blocks(response: str) -> list[Block]:
    """Return the blocks of a response, at least one, for a format with the built-in fences.

    Raises:
        MalformedResponse: there is no block, or one is not closed.
    """
    from code_commit_commit.response import find_spans

    return [span.block(response) for span in find_spans(response)]


def watch_blocks(max_files: int, check: Callable[[Block], object]) -> Callable[[str], int | None]:
    """Return a function for one response, for `ResponseFormat.watch`.

    `check` raises `MalformedResponse` for a block that is wrong whatever follows.
    """
    from code_commit_commit.response import watch_blocks

    return watch_blocks(max_files, check)


def fresh_code(run: Run, require_fit: Callable[[PromptSize], None]) -> str | None:
    """Return the code as `code-commit rollup` collects it, if the rollup is missing or out of date.

    Return None if it is up to date, has what a context chose, or was written by another program.
    `require_fit` checks the size of large code; see `Model.require_fit`.

    Raises:
        NotReady: there is no code, or it is far longer than the model's window.
    """
    from code_commit_commit.current_code import fresh_code

    return fresh_code(run, require_fit)


Instructions = Callable[["Run", Literal["initial", "repair"]], str]
"""Returns a section of the prompt for the initial query or a repair, or an empty text."""
