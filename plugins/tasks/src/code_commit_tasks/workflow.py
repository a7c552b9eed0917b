"""The task agent: perform a task with code that the model writes, directly or in verified steps."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path

from code_commit.plugin_api import (
    Json,
    LimitReached,
    MessageLogged,
    NotReady,
    Outcome,
    ProviderFailed,
    QueryRead,
    Result,
    Run,
    count_of,
)
from code_commit_tasks.agent import Agent
from code_commit_tasks.changed_files import ChangedFiles, describe_files
from code_commit_tasks.final_check import FinalCheck
from code_commit_tasks.functions import open_functions
from code_commit_tasks.plugin import CONTINUES
from code_commit_tasks.prompts import system_prompt
from code_commit_tasks.requirements import Requirements
from code_commit_tasks.runtime.deno import deno_binary
from code_commit_tasks.saved import SavedTask, load, save
from code_commit_tasks.steps import StepFailed, Steps
from code_commit_tasks.tree import Node, lines
from code_commit_tasks.validators import collect_validators
from code_commit_toolbox.tool import ProjectTampered
from code_commit_workspace import STOP, require_no_link_out

_LONGEST_LINE = 200  # characters of the task, for lists of runs


def task(run: Run) -> Result:
    """Perform the task: verify the exit requirement of every step, and the build of the result.

    Raises:
        NotReady: there is no task, no Deno, or no run to resume.
        LimitReached: a limit of the settings was reached.
        ProviderFailed, ResponseRefused: from the host.
    """
    deno_binary()  # before any paid call
    saved = _open_task(run)
    run.emit(QueryRead(saved.description.strip().splitlines()[0].strip()[:_LONGEST_LINE]))
    changed = ChangedFiles(run, saved)
    check = FinalCheck(run, saved.description, changed)
    if check.builds:
        run.build_command()  # it raises, before any paid call
    steps = _steps(run, saved, changed, check)
    save(run, saved)  # the first call may fail or be interrupted
    try:
        result = steps.result_of(saved.root)
    except StepFailed as failed:
        return _failed_result(failed, changed, check)
    except ProjectTampered as altered:
        return Result(Outcome.NOT_REACHED, str(altered), {"tampered": list(altered.paths)})
    except (ProviderFailed, LimitReached) as error:
        if resume := _resume_hint(changed):
            error.hint = f"{error.hint}; then {resume}" if error.hint else resume
        raise
    finally:  # written also after a signal
        run.keep("task-tree.txt", "".join(f"{line}\n" for line in lines(saved.root)))
    run.say(result)
    saved.done = True
    save(run, saved)
    summary = _summary(saved.root)
    if check.builds:
        summary += ", the build passes"
    data = {"result": result, "steps": _count(saved.root), "files": _show_files(run, changed)}
    return Result(Outcome.REACHED, summary, data, verdict=check.verdict)


def _steps(run: Run, saved: SavedTask, changed: ChangedFiles, check: FinalCheck) -> Steps:
    settings = run.settings
    deadline = time.monotonic() + settings.max_seconds
    functions = open_functions(run)
    agent = Agent(
        run=run,
        model=run.model("task"),
        functions=functions,
        system=system_prompt(functions.by_name.values()),
        settings=settings,
        deadline=deadline,
    )
    requirements = Requirements(
        run=run,
        settings=settings,
        validators=collect_validators(run, settings),
        changed=changed,
        deadline=deadline,
    )
    return Steps(
        run=run,
        agent=agent,
        requirements=requirements,
        settings=settings,
        description=saved.description,
        save=partial(save, run, saved),
        build=check.failure,
        earlier=run.options.resume is not None,
        listed=_count(saved.root),
    )


def _open_task(run: Run) -> SavedTask:
    """Return a new task, or the one of the run to resume."""
    options = run.options
    if options.resume is not None:
        saved = load(run, options.resume)
        run.emit(MessageLogged(f"continuing {options.resume}"))
        return saved
    text = options.task if options.task is not None else _read(run, options.task_file)
    if not text.strip():
        raise NotReady("the task is empty", hint="describe the task")
    return SavedTask(run.redacted(text), Node(""))  # --resume reads it from outside the run folder


def _read(run: Run, name: str) -> str:
    try:
        if name == "-":
            return b"".join(STOP.pieces(sys.stdin.fileno())).decode()
        require_no_link_out(run.root, Path.cwd() / name, f"the task file {name}")
        return Path(name).read_bytes().decode()
    except OSError as error:
        raise NotReady(f"cannot read the task file {name}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise NotReady(f"the task file {name} is not UTF-8: byte {error.start}") from error


def _failed_result(failed: StepFailed, changed: ChangedFiles, check: FinalCheck) -> Result:
    node = failed.node
    place = f"step {node.place} ({node.title})" if node.place else "the task"
    reason, *more = str(failed).splitlines() or [""]
    if reason.endswith(":") and more:
        reason += f" {more[0].removeprefix('- ')}"
    outcome = Outcome.NOT_REACHED
    if failed.last.malformed and not node.place:
        outcome = Outcome.RESPONSE_REFUSED
    attempts = count_of(len(node.attempts), "attempt")
    return Result(
        outcome,
        f"{place} failed after {attempts}: {reason}",
        {"step": node.place, "reason": str(failed)},
        hint=_resume_hint(changed),
        verdict=check.verdict_of(str(failed)),
    )


def _resume_hint(changed: ChangedFiles) -> str:
    """Return how to continue; "" if files have changed, because the host says it then."""
    return "" if changed.paths() else CONTINUES


def _show_files(run: Run, changed: ChangedFiles) -> list[Json]:
    """Tell the person which files the task changed; return them for programs."""
    files = changed.files()
    for line in describe_files(files):
        run.emit(MessageLogged(line))
    return [asdict(file) for file in files]


def _count(node: Node) -> int:
    return sum(1 + _count(child) for child in node.steps)


def _summary(root: Node) -> str:
    steps = _count(root)
    if not steps:
        return "the task is done"
    return f"the task is done in {count_of(steps, 'step')}"
