"""`code-commit rollup --context NAME`: collect the code that a context chooses for a query."""

from __future__ import annotations

from argparse import Namespace
from functools import partial
from typing import TYPE_CHECKING

from code_commit.plugin_api import (
    ExitCode,
    Host,
    NotReady,
    UsageError,
    count_of,
    describe_context,
    join_paths,
    printable,
    query_of_flags,
    read_text,
)
from code_commit_commit.code_choice import token_limit
from code_commit_commit.contexts import AUTO, Contexts, InstalledContext, collect_contexts
from code_commit_commit.current_code import paths_to_collect
from code_commit_commit.hooks import ContextRequest, Selection
from code_commit_commit.query_file import QUERY
from code_commit_commit.recorded_rollup import RecordedChoice
from code_commit_commit.rollup import FOLDER, NAME, roll_up_choice
from code_commit_commit.selected_code import SelectedCode

if TYPE_CHECKING:
    from code_commit.plugin_api import PromptSize
    from code_commit_workspace import Workspace


def rollup_of_choice(host: Host, arguments: Namespace) -> int:
    """Write `agent-config/codeRollup.txt` with the files and the map that a context chooses.

    Raises:
        UsageError: no plugin offers the context, or a pattern is malformed.
        NotReady: there is no query, the context failed, or chose nothing that fits.
    """
    limit = arguments.context_tokens
    if limit is not None and limit < 1:
        raise UsageError("--context-tokens must be at least 1")
    if arguments.context == AUTO:
        raise UsageError("--context takes the name of a context here, such as ranked, or all")
    contexts = Contexts.of(partial(collect_contexts, host), host.out.note)
    context = contexts.require(arguments.context, is_flag=True)
    limit = token_limit(limit or host.settings().context_tokens, None)
    with host.workspace(writes=True) as workspace:
        query = _query(host, workspace, arguments)
        try:
            _, paths = paths_to_collect(workspace, arguments.include, arguments.exclude)
        except ValueError as error:
            raise UsageError(f"a pattern is malformed: {error}") from error
        code = SelectedCode(_Project(workspace), paths, limit)
        request = ContextRequest(
            project=_Project(workspace), query=query, paths=paths, tokens=limit
        )
        selection = context.choose(request)
        unusable = code.select(selection)
        if not code.contents:
            raise NotReady(
                f"the context {context.name} chose no file that fits into "
                f"{count_of(limit, 'token')}",
                hint="pass a larger --context-tokens, or another query",
            )
        shown = Selection(
            paths=tuple(code.contents),
            map={path: selection.map.get(path, ()) for path in code.mapped},
            reason=selection.reason,
        )
        rollup = roll_up_choice(
            workspace,
            code,
            RecordedChoice(context.name, limit, shown),
            include=arguments.include,
            exclude=arguments.exclude,
        )
    if arguments.json:
        rows = [{"path": path, "reason": reason} for path, reason in sorted(unusable.items())]
        host.out.document(
            {
                "path": f"{FOLDER}/{NAME}",
                "context": context.name,
                "reason": selection.reason,
                "files": list(code.contents),
                "map": code.mapped,
                "left_out": rows,
                "remarks": {"lfs_pointers": rollup.pointers},
                "bytes": rollup.size,
                "tokens": code.tokens,
            }
        )
    _print(host, context, code, selection.reason, list(unusable))
    return ExitCode.REACHED


class _Project:
    """The project of a context, without a run."""

    def __init__(self, workspace: Workspace) -> None:
        self.root = workspace.root
        self.tree = workspace.tree
        self.may_read = workspace.may_read
        self._git = workspace.git

    def git(
        self,
        *args: str,
        stdin: bytes = b"",
        check: bool = True,
        most: int | None = None,
    ) -> bytes:
        """Run git, which changes nothing."""
        return self._git.run(args, stdin=stdin, check=check, reads_only=True, most=most)


def _query(host: Host, workspace: Workspace, arguments: Namespace) -> str:
    """Return the query of the flags, or that of the project."""

    def require_fit(size: PromptSize) -> None:
        """No model reads it now."""

    query = query_of_flags(arguments, host.root, require_fit)
    if query is None:
        query = read_text(workspace.tree, QUERY)
    if not (query and query.strip()):
        raise NotReady("there is no query", hint=f"pass --query, or describe the change in {QUERY}")
    return query


def _print(
    host: Host,
    context: InstalledContext,
    code: SelectedCode,
    reason: str,
    unusable: list[str],
) -> None:
    line = describe_context(
        {
            "context": context.name,
            "files": list(code.contents),
            "total": code.total,
            "tokens": code.tokens,
        }
    )
    host.out.note(f"{FOLDER}/{NAME}: {line}")
    if reason:
        host.out.note(printable(f"  {reason}", newlines=False))
    if unusable:
        paths = printable(join_paths(unusable), newlines=False)
        host.out.note(f"  {context.distribution} chose files that cannot be shown: {paths}")
