"""The task agent: perform a task with code that the model writes, directly or in verified steps."""

from __future__ import annotations

import shlex
import sys
import time
from functools import partial
from pathlib import Path

from code_commit.plugin_api import (
    MessageLogged,
    NotReady,
    Outcome,
    QueryRead,
    Result,
    Run,
    count_of,
)
from code_commit_tasks.agent import Agent
from code_commit_tasks.changed_files import ChangedFiles
from code_commit_tasks.functions import open_functions
from code_commit_tasks.prompts import system_prompt
from code_commit_tasks.requirements import Requirements
from code_commit_tasks.runtime.deno import deno_binary
from code_commit_tasks.saved import SavedTask, load, save
from code_commit_tasks.steps import StepFailed, Steps
from code_commit_tasks.tree import Node, lines
from code_commit_tasks.validators import collect_validators
from code_commit_toolbox.process_report import process_report
from code_commit_toolbox.tool import ProjectTampered
from code_commit_workspace import STOP, require_no_link_out

_LONGEST_LINE = 200  # characters of the task, for lists of runs
_REPORT_SHOWN = 12 * 1024  # characters of the output of a red build
_RED = "the build is red: "
_MEND = "The task itself is done, and its changes are in the project. Make its build pass, `{command}`, unchanged:"


def task(run: Run) -> Result:
    """Perform the task, verify the exit requirement of every step, and check the result with
    `build.sh`.

    Raises:
        NotReady: there is no task, no Deno, or no run to resume.
        LimitReached: a limit of the settings was reached.
        ProviderFailed, ResponseRefused: from the host.
    """
    deno_binary()  # before any paid call
    saved = _open_task(run)
    run.emit(QueryRead(saved.description.strip().splitlines()[0].strip()[:_LONGEST_LINE]))
    changed = ChangedFiles(run, saved.changed)
    steps = _steps(run, saved, changed)
    if not run.options.no_build and _has_build(run):
        run.build_command()  # it raises, before any paid call
    try:
        result = steps.result_of(saved.root)
    except StepFailed as failed:
        return _failed_result(failed)
    except ProjectTampered as altered:
        return Result(Outcome.NOT_REACHED, str(altered), {"tampered": list(altered.paths)})
    finally:  # written also after a signal
        run.keep("task-tree.txt", "".join(f"{line}\n" for line in lines(saved.root)))
    run.say(result)
    saved.done = True
    save(run, saved)
    built = ", the build passes" if not run.options.no_build and _has_build(run) else ""
    data = {"result": result, "steps": _count(saved.root)}
    return Result(Outcome.REACHED, f"{_summary(saved.root)}{built}", data)


def _steps(run: Run, saved: SavedTask, changed: ChangedFiles) -> Steps:
    def keep() -> None:
        saved.changed = list(changed.paths())
        save(run, saved)

    deadline = time.monotonic() + run.settings.max_seconds
    functions = open_functions(run)
    agent = Agent(
        run,
        run.model("task"),
        functions,
        system_prompt(functions.by_name.values()),
        run.settings,
        deadline,
    )
    requirements = Requirements(
        run, run.settings, collect_validators(run, run.settings), changed, deadline
    )
    earlier, listed = run.options.resume is not None, _count(saved.root)
    build = str if run.options.no_build else partial(_red_build, run)
    return Steps(
        run,
        agent,
        requirements,
        run.settings,
        saved.description,
        keep,
        build,
        earlier=earlier,
        listed=listed,
    )


def _open_task(run: Run) -> SavedTask:
    """Return a new task, or the one of the run to resume."""
    options = run.options
    if options.resume is not None:
        found = load(run, options.resume)
        run.emit(MessageLogged(f"continuing {options.resume}"))
        return found
    text = options.task if options.task is not None else _read(run, options.task_file)
    if not text.strip():
        raise NotReady("the task is empty", hint="describe the task")
    return SavedTask(run.redacted(text), Node(""))  # --resume reads it from outside the run folder


def _read(run: Run, name: str) -> str:
    if name != "-":
        require_no_link_out(run.root, Path.cwd() / name, f"the task file {name}")
    try:
        content = _read_stdin() if name == "-" else Path(name).read_bytes()
        return content.decode()
    except OSError as error:
        raise NotReady(f"cannot read the task file {name}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise NotReady(f"the task file {name} is not UTF-8: byte {error.start}") from error


def _read_stdin() -> bytes:
    return b"".join(STOP.pieces(sys.stdin.fileno()))


def _failed_result(failed: StepFailed) -> Result:
    node = failed.node
    where = f"step {node.place} ({node.title})" if node.place else "the task"
    first, *more = str(failed).splitlines() or [""]
    reason = f"{first} {more[0].removeprefix('- ')}" if first.endswith(":") and more else first
    outcome = (
        Outcome.RESPONSE_REFUSED if failed.malformed and not node.place else Outcome.NOT_REACHED
    )
    attempts = count_of(len(node.attempts), "attempt")
    return Result(
        outcome,
        f"{where} failed after {attempts}: {reason}",
        {"step": node.place, "reason": str(failed)},
    )


def _red_build(run: Run) -> str:
    """Run `build.sh`, if there is one; return why it is red and its output, for the next attempt,
    or "".

    Raises:
        ProjectTampered: the build changed files that check the project.
    """
    if not _has_build(run):
        return ""
    build = run.build()
    if build.tampered:
        raise ProjectTampered(build.tampered)
    if build.passed:
        return ""
    mend = _MEND.format(command=shlex.join(run.build_command()))
    return f"{_RED}build.sh {build.ending}\n{mend}\n{process_report(run, build, _REPORT_SHOWN)}"


def _has_build(run: Run) -> bool:
    try:
        return run.tree.read("build.sh", 1) is not None
    except OSError:
        return True  # it cannot run, and `build_command` says why


def _count(node: Node) -> int:
    return sum(1 + _count(each) for each in node.steps)


def _summary(root: Node) -> str:
    count = _count(root)
    return "the task is done" + (f" in {count_of(count, 'step')}" if count else "")
