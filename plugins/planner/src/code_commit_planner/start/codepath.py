"""Choose the codebase: the root of a planning run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from code_commit.plugin_api import NotReady
from code_commit_planner.dialog.answers import meaning
from code_commit_planner.dialog.messages import ASK_CODEPATH, NO_PATH, NO_SUCH_FOLDER
from code_commit_planner.dialog.text import fill
from code_commit_planner.machine import Event
from code_commit_workspace import Git

if TYPE_CHECKING:
    from code_commit_planner.settings import PlanningOptions


def choose_codepath(options: PlanningOptions, ask: Callable[[str], str | None]) -> Path | None:
    """Return the folder of `--codepath`, or the person's choice; None if the person quits.

    Raises:
        NotReady: `--codepath` is not a folder, the input ended, or the folder is in no repository.
    """
    if options.codepath is not None:
        path = _folder(options.codepath)
    elif (typed := _ask_for_folder(ask)) is not None:
        path = typed
    else:
        return None
    if not options.no_git:
        _require_repository(path)
    return path


def _ask_for_folder(ask: Callable[[str], str | None]) -> Path | None:
    """Ask until the person names a folder; return None if they quit."""
    question = ASK_CODEPATH
    while True:
        answer = ask(question)
        if answer is None:
            raise NotReady("no codepath: the input ended", hint="give it with --codepath=PATH")
        if meaning(answer) is Event.QUIT:
            return None
        try:
            return _folder(answer.strip())
        except NotReady as error:
            question = ASK_CODEPATH
            if answer.strip():
                question = f"{error.message}\n{ASK_CODEPATH}"


def _require_repository(path: Path) -> None:
    """Check that a folder is in a git repository, before anything else is missing.

    Raises:
        NotReady: it is not.
    """
    try:
        Git(path).top()
    except NotReady as error:
        hint = "create one with `git init` there, or pass --no-git to work without git"
        raise NotReady(error.message, hint=hint) from error


def _folder(typed: str) -> Path:
    try:
        path = Path(typed).expanduser().resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise _no_folder(typed) from error
    if not typed or not path.is_dir():
        raise _no_folder(typed)
    return path


def _no_folder(typed: str) -> NotReady:
    reason = fill(NO_SUCH_FOLDER, path=typed) if typed.strip() else NO_PATH
    return NotReady(reason, hint="give the path of a folder with --codepath=PATH")
