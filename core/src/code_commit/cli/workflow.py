"""Start the run that a parsed command line asks for, and print how it ended."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, redirect_stdout

from code_commit.cli.output import CommandOutput
from code_commit.cli.run_plan import plan_run
from code_commit.plugin_api.definitions import Invocation
from code_commit.plugin_api.errors import ExitCode
from code_commit.plugins.registry import Registry
from code_commit.run.session import RunEnding, run_session
from code_commit.terminal.diff_lines import in_color
from code_commit.terminal.screen import may_color
from code_commit.terminal.streams import SafeStream
from code_commit_workspace.words import count_of


def run_invocation(
    invocation: Invocation,
    registry: Registry,
    environ: Mapping[str, str],
    out: CommandOutput,
    *,
    ends_stdout: bool = False,
) -> int:
    """Run the workflow of `invocation`; return the exit code.

    With `ends_stdout`, the process prints nothing on stdout after the events of the run.

    Raises:
        CodeCommitError: the run cannot start.
    """
    plan = plan_run(invocation, registry, environ)
    if plan is None:
        if invocation.as_json:
            out.run_finished(ExitCode.REACHED, "quit before the run began")
        return ExitCode.REACHED
    with ExitStack() as stack:
        if ends_stdout:
            stack.enter_context(redirect_stdout(sys.stderr))
        ending = run_session(plan, registry)
        stack.pop_all()  # for good: threads of plugins may print after the last event
    if invocation.debug and registry.plugin_host.traces:
        traces = out.redacted("".join(registry.plugin_host.traces))
        SafeStream(sys.stderr).print(traces.rstrip())
    _report(ending, invocation, out)
    return ending.exit_code


def _report(ending: RunEnding, invocation: Invocation, out: CommandOutput) -> None:
    for failure in ending.late_failures:
        owner = f"{failure.plugin} of {failure.distribution}"
        out.error(f"{owner} failed ({failure.stage}): {failure.error}")
    _show_diff(ending)
    root = ending.folder.parent.parent
    hint = out.hint(ending.hint, str(root))
    figures = []
    if ending.cost:
        figures.append(f"cost: {ending.cost}")
    if os.path.isdir(ending.folder):  # noqa: PTH112 - raises nothing
        pages = sorted(ending.folder.glob("*.html"))  # if a plugin writes one
        log = pages[0] if pages else ending.folder
        figures.append(f"log: {log.relative_to(root)}")
    if ending.exit_code is ExitCode.REACHED:
        if not invocation.quiet:
            lines = [ending.summary, *(f"  {note}" for note in (*ending.files, *ending.notes))]
            if hint:
                lines.append(f"hint: {hint}")
            SafeStream(sys.stderr).print("\n".join([*lines, *figures]))
        return
    if invocation.debug:
        SafeStream(sys.stderr).print(ending.trace.rstrip())
    out.error(ending.summary, hint, notes=ending.notes, figures=figures)


def _show_diff(ending: RunEnding) -> None:
    """Print the first lines of the diff on the terminal, in color if it has colors."""
    if not ending.diff:
        return
    lines: Iterable[str] = ending.diff
    if may_color(sys.stderr, os.environ):
        lines = in_color(ending.diff)
    stream = SafeStream(sys.stderr)
    stream.write("".join(f"{line}\n" for line in lines))
    if ending.more_lines:
        stream.write(f"… {count_of(ending.more_lines, 'more line')}\n")
    stream.flush()
