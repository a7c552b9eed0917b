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

if TYPE_CHECKING:
    from code_commit_planner.settings import PlanningOptions


def choose_codepath(options: PlanningOptions, ask: Callable[[str], str | None]) -> Path | None:
    """Return the folder of `--codepath`, or the person's choice; None if the person quits.

    Raises:
        NotReady: `--codepath` is not a folder, or the input ended.
    """
    if options.codepath is not None:
        return _folder(options.codepath)
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
