"""Tasks kept between runs, where no model may write: what `--resume` goes on with."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from code_commit.plugin_api import NotReady, Run
from code_commit_tasks.tree import Node

_KEPT = 20  # of the latest runs


@dataclass(slots=True)
class SavedTask:
    """A task as far as it has come; `changed` are the files that it has changed."""

    description: str
    root: Node
    changed: list[str] = field(default_factory=list)
    version: int = 1


def save(run: Run, task: SavedTask) -> None:
    """Keep `task` under the name of this run, in one step; the oldest others go.

    Raises:
        NotReady: it cannot be written.
    """
    target = run.state / f"{run.folder.name}.json"
    try:
        new = target.with_suffix(".new")
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(TypeAdapter(SavedTask).dump_json(task))
        new.replace(target)
        for old in sorted(run.state.glob("*.json"))[:-_KEPT]:
            old.unlink(missing_ok=True)
    except OSError as error:
        raise NotReady(f"cannot write {target}: {error.strerror}") from error


def load(run: Run, name: str) -> SavedTask:
    """Return the task of the run `name`: a name, the beginning of one, or `latest`.

    Raises:
        NotReady: there is no such run, or it was no task.
    """
    if name == "latest":
        found = sorted(run.state.glob("*.json"))
        if not found:
            raise NotReady("there is no task that can be resumed", hint="begin one with --task")
        return _read(found[-1])
    folder = run.find_run(name)
    file = run.state / f"{folder.name}.json"
    if not file.is_file():
        raise NotReady(f"{folder.name} is no task that can be resumed", hint="`code-commit runs` lists the runs")
    return _read(file)


def _read(file: Path) -> SavedTask:
    try:
        return TypeAdapter(SavedTask).validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        raise NotReady(f"{file} cannot be read: {error}", hint="run the task anew with --task") from error
