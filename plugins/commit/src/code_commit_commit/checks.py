"""The checks of `code-commit doctor` for the commit workflow.

They look at the build, and at the code for the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from code_commit.plugin_api import (
    Check,
    CheckContext,
    Host,
    Message,
    NotReady,
    PromptPart,
    PromptSize,
    Request,
    RolledUp,
    Text,
    Usage,
    cost_of,
    count_of,
    read_text,
)
from code_commit_commit.code_choice import token_limit
from code_commit_commit.commands.first_build import interpreter_of, run_first_build
from code_commit_commit.contexts import (
    ALL,
    AUTO,
    RANKED,
    Contexts,
    InstalledContext,
    collect_contexts,
    with_hint_of_context,
)
from code_commit_commit.current_code import (
    CODEBASE,
    CurrentCode,
    collect_current_code,
    describe_difference,
    new_files,
)
from code_commit_commit.formats import require_known_format
from code_commit_commit.git_commit import require_can_commit
from code_commit_commit.inputs import FRESH, require_build
from code_commit_commit.prompts import Context, PromptOrder, initial_prompt
from code_commit_commit.query_file import QUERY, is_sample
from code_commit_commit.recorded_rollup import (
    recorded_choice,
    rollup_patterns,
)
from code_commit_commit.window import (
    LARGE,
    PromptTooLong,
    RequireFit,
    code_part,
    require_file_fits,
    require_fit_of,
)
from code_commit_workspace import Git, NextCommit, Workspace

if TYPE_CHECKING:
    from code_commit_commit.settings import CommitSettings

_REPLY = 10_000  # tokens, for the price


def check_query(host: Host, context: CheckContext) -> Iterator[Check]:
    """Check the query of a run that gets none on the command line.

    Raises:
        PromptTooLong: it is longer than the model's window.
    """
    with host.workspace() as workspace:
        require_file_fits(workspace.tree, QUERY, require_fit_of(context), is_code=False)
        try:
            query = read_text(workspace.tree, QUERY)
        except NotReady as error:
            hint = "pass --query, or describe the change in that file"
            yield Check("warning", error.message, hint=hint)
            return
    if query is None or not query.strip():
        yield Check("ok", f"none in {QUERY}, so a run needs --query or --query-file")
    elif is_sample(query):
        yield Check("ok", f"the sample text in {QUERY}, so a run needs --query or --query-file")
    else:
        part = PromptPart.of("the query", query)
        require_fit_of(context)(PromptSize(part.tokens, [part]))
        yield Check("ok", f"{count_of(len(query.split()), 'word')} in {QUERY}")


def check_format(host: Host, context: CheckContext) -> Iterable[Check]:  # noqa: ARG001 - a check
    """Check the setting `response_format`, without a line if it is right.

    Raises:
        NotReady: no plugin offers it.
    """
    require_known_format(host)
    return ()


def check_commit(host: Host, context: CheckContext) -> Iterable[Check]:  # noqa: ARG001 - a check
    """Check that git can commit if the setting `auto_commit` is on, without a line if it can.

    Raises:
        NotReady: it cannot.
    """
    settings = host.settings()
    if settings.auto_commit:
        with host.workspace() as workspace:
            top = Path(workspace.git.top())
            git = partial(_git, workspace.git, top)
            require_can_commit(NextCommit(git, host.root, top, hooks=settings.commit_hooks))
    return ()


def _git(git: Git, top: Path, *arguments: str, **options: Any) -> bytes:
    return git.run(("-C", str(top), *arguments), **options)


def check_build(host: Host, context: CheckContext) -> Iterator[Check]:
    """Check that `build.sh` is there, and that it passes before any change.

    Raises:
        NotReady: it is missing, or cannot run.
    """
    with host.workspace(repository="optional") as workspace:
        interpreter = interpreter_of(require_build(workspace))
    if not context.builds:
        yield Check("skipped", f"not run, because of --no-build (interpreter: {interpreter})")
        return
    build = run_first_build(host, "running build.sh ...")
    if build.passed:
        yield Check("ok", build.ending, data=build.document())
        return
    hint = (
        f"fix it first: no change can pass this build; run `{build.typed}` to see the whole output"
    )
    yield Check(
        "problem",
        "\n".join([f"{build.ending}, before any change", *build.last_lines]),
        hint,
        build.document(),
    )


@dataclass(frozen=True, slots=True)
class _Code:
    """The code that the next run would send, and the state of the rollup for people.

    `changed` is how many files differ from the rollup.
    """

    text: str
    standing: str
    changed: int = 0
    hint: str = ""


def check_rollup(host: Host, context: CheckContext) -> Iterator[Check]:
    """Check the code that the next run would send.

    The check says whether it is up to date and fits the window, and what it costs.

    Raises:
        NotReady: the next run could not send it.
    """
    settings = host.settings()
    selecting = _selecting_context(host, settings.context)
    limit = token_limit(settings.context_tokens, context.window)
    with host.workspace() as workspace:
        query = _query_of(workspace)
        if settings.context not in {AUTO, ALL}:
            yield from _selection(settings.context, limit, context)
            return
        is_ours = rollup_patterns(workspace.tree) is not None
        most_code = settings.context_tokens if settings.context == AUTO and is_ours else None
        require_fit = require_fit_of(context, most_code)
        try:
            counts_all = settings.context == ALL or selecting is None
            code = _chosen_code(workspace, settings) or _next_code(
                workspace,
                settings.changed_since_rollup,
                require_fit,
                counts_all=counts_all,
            )
            size = _prompt_size(code.text, settings.prompt_order, query)
            require_fit(size)
        except PromptTooLong as error:
            if counts_all or not is_ours:
                yield Check("skipped", "not compared with the files: no run can send it")
                raise with_hint_of_context(error, settings.context, selecting) from error
            yield from _selection(RANKED, limit, context, "not all of the code fits, so ")
            return
    yield Check(
        "warning" if code.hint else "ok",
        code.standing,
        hint=code.hint,
        data={"changed_files": code.changed},
    )
    yield _size(size.tokens, context.model, context.window)


def _selecting_context(host: Host, setting: str) -> InstalledContext | None:
    """Return the context that a run would use, if any.

    Raises:
        NotReady: the settings name one that no plugin offers.
    """
    contexts = Contexts.of(partial(collect_contexts, host), host.out.note)
    if setting in {AUTO, ALL}:
        return contexts.find(RANKED)
    return contexts.require(setting, is_flag=False)


def _selection(name: str, limit: int, context: CheckContext, why: str = "") -> Iterator[Check]:
    """Yield the checks of code that a context will choose."""
    most = count_of(limit, "token")
    yield Check("ok", f"{why}a run shows what the context {name} chooses, at most {most}")
    size = _prompt_size("", "standard")
    yield _size(size.tokens + limit, context.model, context.window)


def _query_of(workspace: Workspace) -> str:
    """Return the query of a run that gets none on the command line; empty if it has none."""
    if workspace.tree.size(QUERY) > LARGE:
        return ""  # its own check says that it does not fit
    try:
        query = read_text(workspace.tree, QUERY) or ""
    except NotReady:
        return ""
    return "" if is_sample(query) else query


def _prompt_size(code: str, order: PromptOrder, query: str = "") -> PromptSize:
    """Return the size of an initial prompt."""
    prompt = initial_prompt(Context(query, code), order)
    request = Request((Message("user", tuple(map(Text, prompt))),))
    return PromptSize.of(request, (code_part(code),))


def _size(tokens: int, model: str, window: int | None) -> Check:
    """Return the tokens of a prompt, the window of `model`, and the cost of a call.

    The window and the cost are left out if they are unknown.
    """
    text = f"a prompt has about {tokens:,} tokens"
    data: dict[str, int | float | None] = {
        "tokens": tokens,
        "window": window,
        "cost": None,
        "reply_cost": None,
    }
    if window:
        text += f"; {model} reads {window:,}"
    costs = [cost_of(model, Usage(tokens, reply)) for reply in (0, _REPLY)] if model else []
    match costs:
        case [float(cost), float(whole)]:
            text += (
                f"; a call costs about ${cost:.4f}, and ${whole - cost:.4f} for {_REPLY:,} "
                "tokens of reply"
            )
            data |= {"cost": cost, "reply_cost": whole - cost}
    return Check("ok", text, data=data)


def _next_code(
    workspace: Workspace,
    setting: str,
    require_fit: RequireFit,
    *,
    counts_all: bool,
) -> _Code:
    """Return the code that the next run would send.

    Raises:
        NotReady: the run would not start.
    """
    require_file_fits(workspace.tree, CODEBASE, require_fit, is_code=True)
    codebase = read_text(workspace.tree, CODEBASE)
    collect = partial(collect_current_code, workspace, require_fit, counts_all=lambda: counts_all)
    if codebase is None:
        code = collect()
        return _Code(code.text, f"none yet; a run collects {_count(code)}")
    if not codebase.strip():
        raise NotReady(f"{CODEBASE} is empty", hint="run `code-commit rollup`")
    rolled_up = RolledUp.of(workspace.tree, codebase)
    if rolled_up.patterns is None:
        return _Code(codebase, "from another program, so it may be out of date")
    changed, created = rolled_up.changed(), new_files(workspace, rolled_up)
    count = len(changed) + len(created)
    if not count:
        return _Code(codebase, "up to date")
    if setting == "ignore":
        return _Code(codebase, "out of date, but the settings ignore this", count)
    difference = f"{describe_difference(changed, created)} since"
    if setting == "refresh":
        code = collect(*rolled_up.patterns)
        return _Code(code.text, f"{difference}, so the next run collects {_count(code)}", count)
    if setting == "stop":
        raise NotReady(difference, hint=FRESH)
    return _Code(codebase, difference, count, FRESH)


def _chosen_code(workspace: Workspace, settings: CommitSettings) -> _Code | None:
    """Return the code that a context chose for the rollup; None if it has all of the code.

    Raises:
        NotReady: a file changed, and the settings stop the run.
    """
    choice = recorded_choice(workspace.tree)
    if choice is None or settings.context != AUTO:
        return None
    text = read_text(workspace.tree, CODEBASE) or ""
    changed = RolledUp.of(workspace.tree, text).changed()
    standing = f"{count_of(len(choice.selection.paths), 'file')} chosen by {choice.context}"
    if not changed:
        return _Code(text, standing)
    difference = f"{describe_difference(changed, ())} since"
    if settings.changed_since_rollup == "stop":
        raise NotReady(difference, hint=FRESH)
    return _Code(text, f"{standing}; {difference}, so the next run reads them again", len(changed))


def _count(code: CurrentCode) -> str:
    return count_of(len(code.rollup.files), "file")
