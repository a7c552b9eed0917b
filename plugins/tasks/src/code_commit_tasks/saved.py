"""Save tasks for `--resume`, in a folder where no model may write."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from code_commit.plugin_api import NotReady, Run
from code_commit_tasks.tree import Node
from code_commit_workspace import replace_file

_KEPT = 20  # latest runs


@dataclass(slots=True)
class SavedTask:
    """The progress of a task. `done` means it succeeded, `moments` are the starts of its runs."""

    description: str
    root: Node
    moments: list[str] = field(default_factory=list)
    done: bool = False
    version: Literal[1] = 1


def save(run: Run, task: SavedTask) -> None:
    """Save `task` atomically under the name of this run; delete the oldest saved tasks.

    Raises:
        NotReady: it cannot be written.
    """
    target = run.state / f"{run.folder.name}.json"
    try:
        replace_file(target, TypeAdapter(SavedTask).dump_json(task, exclude_none=True))
        for old in _by_age(run)[:-_KEPT]:
            old.unlink(missing_ok=True)
    except OSError as error:
        raise NotReady(f"cannot write {target}: {error.strerror}") from error


def load(run: Run, name: str) -> SavedTask:
    """Return the task of the run `name`: its name, a unique prefix, or `latest`.

    Raises:
        NotReady: there is no such run, or it was not a task.
    """
    if name == "latest":
        files = _by_age(run)
        if not files:
            raise NotReady("there is no task that can be resumed", hint="start one with --task")
        return _read(files[-1])
    folder = run.find_run(name)
    file = run.state / f"{folder.name}.json"
    if not file.is_file():
        raise NotReady(
            f"{folder.name} is not a task that can be resumed",
            hint="`code-commit runs` lists the runs",
        )
    return _read(file)


def _by_age(run: Run) -> list[Path]:
    """Return the saved files, latest last.

    Do not sort by name: two runs in one second differ by a final number.
    """
    return sorted(run.state.glob("*.json"), key=lambda file: file.stat().st_mtime_ns)


def _read(file: Path) -> SavedTask:
    try:
        task = TypeAdapter(SavedTask).validate_json(file.read_bytes())
        _require_order(task.root)
    except (OSError, ValueError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise NotReady(
            f"cannot read {file}: {reason}", hint="start the task again with --task"
        ) from error
    if task.done:
        raise NotReady(f"the task of {file.stem} is done", hint="start another with --task")
    return task


def _require_order(node: Node) -> None:
    for number, child in enumerate(node.steps, 1):
        if child.step is None or child.place != node.child(number, child.step).place:
            raise ValueError(f"the step {child.place!r} is in the wrong place")
        if any(previous >= number - 1 for previous in child.step.context.previous_steps):
            raise ValueError(f"step {child.place} requests the result of a later one")
        _require_order(child)
