"""Read the inputs of a run: the query, the code rollup and the state of the files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from code_commit.plugin_api import (
    MessageLogged,
    NotReady,
    QueryRead,
    RolledUp,
    join_paths,
    query_of_flags,
    read_text,
)
from code_commit_commit.build_scripts.part import UNKNOWN
from code_commit_commit.current_code import (
    CODEBASE,
    CurrentCode,
    collect_again,
    collect_current_code,
    collect_missing,
    new_files,
)
from code_commit_commit.prompts import Context
from code_commit_commit.query_file import QUERY, is_sample
from code_commit_commit.recorded_rollup import recorded_choice
from code_commit_commit.seen_files import SeenFiles
from code_commit_commit.window import (
    PromptTooLong,
    RequireFit,
    require_code_limit,
    require_file_fits,
)

if TYPE_CHECKING:
    from code_commit.plugin_api import PromptSize, Run, Tree
    from code_commit_workspace import Workspace

_LONGEST_LINE = 200  # characters of the query, for lists of runs
_DESCRIBE = "pass --query, or describe the change in that file"
FRESH = "update the rollup with `code-commit rollup`, then run again"


def read_query(run: Run) -> str:
    """Return the query, unchanged.

    Raises:
        NotReady: it is missing, empty, not UTF-8, or far longer than the model's window; or
            build.sh is missing.
        UsageError: it is the name of a file.
    """
    require_build(run)
    _require_commands(run.tree)
    query = _query(run)
    if not query.strip():
        raise NotReady("the query is empty", hint="describe the change")
    run.emit(QueryRead(query.strip().splitlines()[0].strip()[:_LONGEST_LINE]))
    return query


def read_code(
    run: Run,
    query: str,
    counts_all: Callable[[], bool],
    require_fit: RequireFit,
) -> tuple[Context, SeenFiles]:
    """Return the query with the code rollup, unchanged.

    Collect the code again if our own rollup is out of date. `counts_all` says whether to count the
    rest of code that cannot fit.

    Also return what the model will know about each file.

    Raises:
        PromptTooLong: the code is far longer than the model's window.
        NotReady: it is missing, empty or not UTF-8; or files changed since the rollup.
    """
    require_file_fits(run.tree, CODEBASE, require_fit, is_code=True)
    collect = partial(collect_current_code, run, require_fit, counts_all=counts_all)
    if run.options.rollup or recorded_choice(run.tree):  # of a choice, not of all code
        return _collected(run, query, collect)
    codebase = read_text(run.tree, CODEBASE)
    if codebase is None:
        return _collected_context(run, query, collect_missing(run, collect))
    if not codebase.strip():
        hint = "collect the code with codeRollup.sh or `code-commit rollup`"
        raise NotReady(f"{CODEBASE} is empty", hint=hint)
    return _compare_with_rollup(run, Context(query, codebase), collect)


def _collected_context(run: Run, query: str, code: CurrentCode) -> tuple[Context, SeenFiles]:
    return Context(query, code.text), SeenFiles(run, code.text, code.rolled_up)


def _collected(
    run: Run, query: str, collect: Callable[..., CurrentCode]
) -> tuple[Context, SeenFiles]:
    """Collect the current code with the patterns of the existing rollup.

    Raises:
        NotReady: another program wrote the existing rollup; running it again would bypass the
            sandbox.
    """
    codebase = read_text(run.tree, CODEBASE)
    patterns = None if codebase is None else RolledUp.of(run.tree, codebase).patterns
    if codebase is not None and patterns is None:
        raise NotReady(
            f"{CODEBASE} was not written by `code-commit rollup`, so --rollup cannot update it",
            hint="update it with your own script, such as codeRollup.sh, and run without --rollup",
        )
    code = collect(*(patterns or ()))
    run.emit(MessageLogged(f"collected {code}"))
    return _collected_context(run, query, code)


def _compare_with_rollup(
    run: Run, context: Context, collect: Callable[..., CurrentCode]
) -> tuple[Context, SeenFiles]:
    """Compare the files with the rollup's manifest.

    Raises:
        NotReady: files changed or are new, and the settings stop the run.
    """
    setting = run.settings.changed_since_rollup
    rolled_up = RolledUp.of(run.tree, context.codebase)
    if setting == "ignore":
        return context, SeenFiles(run, context.codebase, rolled_up, compared=False)
    changed, created = rolled_up.changed(), new_files(run, rolled_up)
    if not (changed or created):
        return context, SeenFiles(run, context.codebase, rolled_up)
    if setting == "refresh" and rolled_up.patterns:
        code = collect_again(run, changed, created, partial(collect, *rolled_up.patterns))
        return _collected_context(run, context.query, code)
    differences = []
    if changed:
        differences.append(f"changed since the rollup: {join_paths(changed)}")
    if created:
        differences.append(f"new since the rollup: {join_paths(created)}")
    difference = "; ".join(differences)
    if setting != "protect":
        raise NotReady(difference, hint=FRESH)
    run.emit(MessageLogged(f"{difference}; {FRESH}", level="warning"))
    return context, SeenFiles(run, context.codebase, rolled_up, created=created)


def require_unchanged_choice(run: Run) -> None:
    """Check that the files that a context chose for the rollup are as they were, if that matters.

    A run reads them again anyway.

    Raises:
        NotReady: one changed, and the settings stop the run.
    """
    changed = RolledUp.of(run.tree, read_text(run.tree, CODEBASE) or "").changed()
    if not changed:
        return
    difference = f"changed since the rollup: {join_paths(changed)}"
    if run.settings.changed_since_rollup == "stop":
        raise NotReady(difference, hint=FRESH)
    run.emit(MessageLogged(f"{difference}; the run reads them again"))


def _query(run: Run) -> str:
    query = query_of_flags(run.options, run.root, fit_of(run))
    if query is not None:
        return query
    path = QUERY
    if run.options.edit:
        from code_commit_commit.edited_query import edit_latest_query

        path = edit_latest_query(run)
    require_file_fits(run.tree, path, fit_of(run), is_code=False)
    query = read_text(run.tree, path)
    if query is None:
        raise NotReady(f"{path} is missing", hint=_DESCRIBE)
    if is_sample(query):
        raise NotReady(f"{path} still has the sample text of `code-commit init`", hint=_DESCRIBE)
    return query


def require_build(project: Run | Workspace) -> tuple[str, ...]:
    """Check that `build.sh` can run, and return its command line.

    Raises:
        NotReady: it is missing, is a link or not a text with LF line ends, or its interpreter is
            missing.
    """
    if _is_missing(project.tree, "build.sh"):
        raise NotReady(
            "there is no build.sh here",
            hint="`code-commit init` writes one; it must exit with 0 only if the project builds "
            "and its tests pass",
        )
    return project.build_command()


def _require_commands(tree: Tree) -> None:
    """Check that `build.sh` is not the script for projects that `init` knows nothing of.

    Raises:
        NotReady: it is, so that every change would fail.
    """
    if (tree.read("build.sh") or b"").endswith(UNKNOWN.encode()):
        raise NotReady(
            "build.sh builds and tests nothing: it is what `code-commit init` writes for a project "
            "that it knows nothing of",
            hint="add the commands that build and test this project to build.sh",
        )


def _is_missing(tree: Tree, path: str) -> bool:
    try:
        return tree.read(path, 1) is None
    except OSError:
        return False


def fit_of(run: Run, most_code: int | None = None) -> RequireFit:
    """Return the check of a prompt's size; the model's window is looked up when it is used.

    With `most_code`, the code may not have more tokens.
    """

    def require_fit(size: PromptSize) -> None:
        require_code_limit(size, most_code)
        model = run.model()
        try:
            model.require_fit(size)
        except NotReady as error:
            raise PromptTooLong(error.message, hint=error.hint) from error

    return require_fit
