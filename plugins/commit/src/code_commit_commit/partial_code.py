"""The part of the code that a run shows, and how it grows with requests and failures."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING

from code_commit.plugin_api import (
    ContextChosen,
    Json,
    NotReady,
    RolledUp,
    Usage,
    cost_of,
    count_of,
    join_paths,
    printable,
    shorten,
)
from code_commit_commit.code_choice import CodeChoice, token_limit, warn
from code_commit_commit.hooks import ContextRequest, MalformedResponse, Selection
from code_commit_commit.prompts import Context, Section
from code_commit_commit.recorded_rollup import RecordedChoice
from code_commit_commit.requested_files import BEGIN, CLOSE, requested_files
from code_commit_commit.seen_files import SeenFiles
from code_commit_commit.selected_code import LABEL, NOT_TEXT, SelectedCode
from code_commit_workspace import normalise_path

if TYPE_CHECKING:
    from typing import Literal

    from code_commit.plugin_api import Change, Run

    Cause = Literal["query", "request", "failure"]

_REQUESTS = 2  # of a run
_MOST_RELATED = 20  # files that join a repair
_LONGEST_PATH = 200  # characters of a requested path that is refused; a model wrote it
_ONLY_A_PART = """\
The codebase has {shown} of the project.
Do not replace or delete a file whose text is not shown.
"""
_RAISE = "raise context_tokens in [plugins.commit], or pass --context-tokens"
_NAMED = "named by --files, with a map of others"


class PartialCode:
    """The files that a run shows to the model, of those that it could show.

    `visible` are all files that a model may see, `paths` those to choose from.
    """

    def __init__(
        self,
        run: Run,
        query: str,
        choice: CodeChoice,
        visible: Sequence[str],
        paths: Sequence[str],
    ) -> None:
        limit = token_limit(choice.limit, run.model().window)
        self._run = run
        self._query = query
        self._choice = choice
        self._code = SelectedCode(run, paths, limit)
        self._selection = Selection(paths=())
        self._requests = _REQUESTS
        self._changed: list[str] = []  # by responses
        self._refused: dict[str, str] = {}  # requested files that cannot be shown
        self._select()
        text, rollup = self._code.rollup()
        self._codebase = text.decode()
        others = [path for path in visible if path not in rollup.files]
        rolled_up = RolledUp.of_files(run.tree, text, rollup.files, others)
        self.seen = SeenFiles(run, self._codebase, rolled_up)

    def copy(self, seen: SeenFiles) -> PartialCode:
        """Return the same for another model, which knows what `seen` says."""
        part = copy(self)
        part.seen = seen
        part._code = self._code.copy()  # noqa: SLF001 - of this class
        part._refused = dict(self._refused)  # noqa: SLF001 - likewise
        return part

    @property
    def context(self) -> Context:
        """The query, and the code of the next prompt."""
        return Context(self._query, self._codebase)

    @property
    def sections(self) -> tuple[Section, ...]:
        """The section of the next prompt about files that it does not show, if there are any."""
        if not self._is_partial:
            return ()
        shown = f"{len(self._code.contents):,} of {count_of(self._code.total, 'file')}"
        pieces = [_ONLY_A_PART.format(shown=shown), self._how_to_request()]
        if self._refused:
            lines = (
                f"{shorten(printable(path, newlines=False), _LONGEST_PATH)}: {reason}\n"
                for path, reason in self._refused.items()
            )
            pieces.append(f"You asked for these files, which cannot be shown:\n\n{''.join(lines)}")
        if self._code.map:
            pieces.append(
                f"Other files of the project, some with names that they define:\n\n{self._code.map}"
            )
        return (Section(LABEL, "\n".join(pieces), is_constant=True),)

    @property
    def choice(self) -> RecordedChoice:
        """What was chosen for the first prompt, for a replay."""
        names = self._selection.map
        return RecordedChoice(
            self._choice.name,
            self._code.limit,
            Selection(
                paths=tuple(self._code.contents),
                map={path: names.get(path, ()) for path in self._code.mapped},
                reason=self._selection.reason,
            ),
            named=self._choice.named,
        )

    def take_request(self, response: str) -> bool:
        """Show the files that a response asks for. Return False if it asks for none.

        Raises:
            MalformedResponse: the request is malformed, or one too many.
        """
        if not self._is_partial:
            return False
        paths = requested_files(response)
        if paths is None:
            return False
        if not self._requests:
            raise MalformedResponse(
                "the response asks for more files, and no further files can be shown: "
                "reply with file replacements"
            )
        self._requests -= 1
        requested = [normalise_path(path) for path in paths]
        self._refused = {path: "It is shown." for path in requested if self.seen.knows(path)}
        self._show([path for path in requested if path not in self._refused], "request")
        return True

    def follow(self, failure: str, changes: Sequence[Change]) -> None:
        """Show files that a failure of an attempt concerns. `changes` are those of the run."""
        self._refused = {}
        self._changed = [change.path for change in changes]
        context = self._choice.context
        if context is None or not self._is_partial:
            return
        related = context.related(self._request(), failure, self._changed, partial(warn, self._run))
        offered = self._code.offered
        self._warn_of({path for path in related if path not in offered})
        paths = [path for path in related if path in offered and not self.seen.knows(path)]
        if paths:
            self._show(paths[:_MOST_RELATED], "failure")

    @property
    def _is_partial(self) -> bool:
        return len(self._code.contents) < self._code.total

    def _how_to_request(self) -> str:
        if not self._requests:
            return "No further files can be shown: make the change with these.\n"
        times = "once" if self._requests == 1 else "twice"
        return (
            "If you need other files, reply only with a list of their paths, without any file\n"
            "replacement. The same prompt then comes again, with these files as far as they fit;\n"
            f"you can do this {times}. The list has this form:\n\n"
            f"{BEGIN}\npath/of/a/file\npath/of/another/file\n{CLOSE}\n"
        )

    def _request(self) -> ContextRequest:
        return ContextRequest(
            project=self._run,
            query=self._query,
            paths=self._code.paths,
            tokens=self._code.limit,
            named=self._choice.named,
            model=self._run.model,
        )

    def _select(self) -> None:
        """Select the files of the first prompt.

        Raises:
            NotReady: none can be shown.
        """
        code, choice = self._code, self._choice
        if not code.paths and not choice.named:
            raise NotReady(
                "there is no code to collect: git lists no text file here",
                hint="add source files, or check .gitignore",
            )
        for path, reason in code.show(choice.named).items():
            hint = "name text files" if reason == NOT_TEXT else _RAISE
            raise NotReady(f"--files: {path} cannot be shown: {reason}", hint=hint)
        unusable: dict[str, str] = {}
        if choice.context and code.paths:
            selection = choice.context.choose(self._request())
            if choice.shows_only_named:
                lines = dict.fromkeys(selection.paths, ()) | dict(selection.map)
                selection = Selection(paths=(), map=lines, reason=_NAMED)
            self._selection = selection
            unusable = code.select(selection)
            self._warn_of(unusable)
        if not (code.contents or code.mapped):
            why = f"no file fits into {count_of(code.limit, 'token')}"
            raise NotReady(f"no code can be shown: {why}", hint=_RAISE)
        self._emit("query", unusable)

    def _show(self, paths: Sequence[str], cause: Cause) -> None:
        """Show further files, and note what the model knows then.

        Those that responses changed stay: the replacements in a repair build on them.
        """
        before = self._code.contents
        # What may be related does not displace the best of what the query needs.
        most = self._code.limit // 2 if cause == "failure" else None
        unusable = self._code.show_more(paths, self._changed, most)
        after = self._code.contents
        self.seen.learn({path: text for path, text in after.items() if before.get(path) != text})
        self.seen.forget(before.keys() - after.keys())
        text, _ = self._code.rollup()
        self._codebase = text.decode()
        if cause == "request":
            self._refused |= unusable
        self._emit(cause, unusable)

    def _warn_of(self, paths: Collection[str]) -> None:
        """Name files that the context chose, but that cannot be shown."""
        context = self._choice.context
        if context and paths:
            warn(
                self._run,
                f"{context.distribution}: the context {context.name} chose files that cannot be "
                f"shown: {join_paths(sorted(paths))}",
            )

    def _emit(self, cause: Cause, unusable: dict[str, str]) -> None:
        code = self._code
        rows: list[Json] = [{"path": path, "reason": reason} for path, reason in unusable.items()]
        self._run.emit(
            ContextChosen(
                context=self._choice.name,
                reason=self._selection.reason,
                files=tuple(code.contents),
                total=code.total,
                mapped=len(code.mapped),
                tokens=code.tokens,
                cost_usd=cost_of(self._run.model().name, Usage(code.tokens, 0)),
                left_out=tuple(rows),
                cause=cause,
            )
        )
