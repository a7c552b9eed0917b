"""The checks of `code-commit doctor` for the commit workflow.

They look at the build, and at the code for the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from code_commit.plugin_api import (
    Check,
    CheckContext,
    Host,
    Message,
    NotReady,
    PromptSize,
    Request,
    RolledUp,
    Text,
    Usage,
    cost_of,
    count_of,
    read_text,
)
from code_commit_commit.commands.first_build import interpreter_of, run_first_build
from code_commit_commit.current_code import (
    CurrentCode,
    collect_current_code,
    describe_difference,
    new_files,
)
from code_commit_commit.inputs import CODEBASE, FRESH, QUERY, SAMPLE_QUERY, require_build
from code_commit_commit.prompts import Context, initial_prompt
from code_commit_commit.window import (
    PromptTooLong,
    RequireFit,
    code_part,
    require_file_fits,
    require_fit_of,
)
from code_commit_workspace import Workspace

_REPLY = 10_000  # tokens, for the price


def check_query(host: Host, context: CheckContext) -> Iterator[Check]:  # noqa: ARG001 - a check
    """Check the query of a run without `--query` and `--query-file`."""
    with host.workspace() as workspace:
        try:
            query = read_text(workspace.tree, QUERY)
        except NotReady as error:
            hint = "pass --query, or describe the change in that file"
            yield Check("warning", error.message, hint=hint)
            return
    if query is None or not query.strip():
        yield Check("ok", f"none in {QUERY}, so a run needs --query or --query-file")
    elif query.split() == SAMPLE_QUERY.split():
        yield Check("ok", f"the sample text in {QUERY}, so a run needs --query or --query-file")
    else:
        yield Check("ok", f"{count_of(len(query.split()), 'word')} in {QUERY}")


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
    require_fit = require_fit_of(context)
    with host.workspace() as workspace:
        try:
            code = _next_code(workspace, settings.changed_since_rollup, require_fit)
        except PromptTooLong:
            yield Check("skipped", "not compared with the files: no run can send it")
            raise
    yield Check(
        "warning" if code.hint else "ok",
        code.standing,
        hint=code.hint,
        data={"changed_files": code.changed},
    )
    prompt = initial_prompt(Context("", code.text), settings.prompt_order)
    request = Request((Message("user", tuple(map(Text, prompt))),))
    size = PromptSize.of(request, (code_part(code.text),))
    require_fit(size)
    yield _size(size.tokens, context.model, context.window)


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


def _next_code(workspace: Workspace, setting: str, require_fit: RequireFit) -> _Code:
    """Return the code that the next run would send.

    Raises:
        NotReady: the run would not start.
    """
    require_file_fits(workspace.tree, CODEBASE, require_fit, is_code=True)
    codebase = read_text(workspace.tree, CODEBASE)
    if codebase is None:
        code = collect_current_code(workspace, require_fit)
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
        include, exclude = rolled_up.patterns
        code = collect_current_code(workspace, require_fit, include, exclude)
        return _Code(code.text, f"{difference}, so the next run collects {_count(code)}", count)
    if setting == "stop":
        raise NotReady(difference, hint=FRESH)
    return _Code(codebase, difference, count, FRESH)


def _count(code: CurrentCode) -> str:
    return count_of(len(code.rollup.files), "file")
