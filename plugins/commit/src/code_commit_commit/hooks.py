"""The hooks of the commit workflow, and their records: the only module that plugins import.

    from code_commit.plugin_api import hookimpl
    from code_commit_commit.hooks import Context

    @hookimpl(optionalhook=True)
    def code_commit_contexts(settings):
        return [Context("changed", "the files of the last commit", choose)]

Without plugins that implement them, prompts and behavior are those of the seeds.
"""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from code_commit.plugin_api import hookspec

if TYPE_CHECKING:  # only for annotations: every start imports this module
    from code_commit.plugin_api import Change, Model, Refusal, Run, Tree, Watch


class MalformedResponse(Exception):  # noqa: N818 - names a kind of response
    """The text does not follow the response format.

    The message is for the model that repairs it.
    """


class Project(Protocol):
    """The files that a context chooses from: a `Run`, or a `Workspace` for `code-commit rollup`."""

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

    `instructions` is a section of the prompt, after the seeds' text. `parse` returns the changes of
    a whole response; `tree` has the files as they are. It is pure, takes linear time, never
    guesses, and raises `MalformedResponse`. `watch` returns a function for one response that
    arrives in pieces, which returns the position where the response is known to be malformed.
    """

    name: str
    help: str
    instructions: str = field(repr=False)
    parse: Callable[[str, Tree], Sequence[Change]]
    watch: Callable[[int], Watch] | None = None


Instructions = Callable[["Run", Literal["initial", "repair"]], str]
"""Returns a section of the prompt for the initial query or a repair, or an empty text."""


@hookspec
def code_commit_instructions(settings: Any) -> Iterable[Instructions]:
    """Return functions for sections of the prompt, after the seeds' text.

    Called once per run, with the section of the implementing plugin. An error in this hook or in a
    function ends the run with exit 3 and the name of its distribution.
    """


@hookspec
def code_commit_contexts(settings: Any) -> Iterable[Context]:
    """Return contexts. Called once per run, with the section of the implementing plugin."""


@hookspec
def code_commit_formats(settings: Any) -> Iterable[ResponseFormat]:
    """Return response formats. Called once per run, with the section of the implementing plugin."""
