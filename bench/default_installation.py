"""What most people run: `[gemini,report]`, in a project with a scripted service."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

from harness import Command, code_commit
from project import BREAKS, MENDS

from code_commit_testing import ScriptedServer

PLUGINS = {"commit", "history", "gemini", "acceptance", "context", "html"}
MOST_CALLS = 100_000


@cache
def own_command(also: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the command without the plugins that the default installation lacks.

    `also` are further plugins that it has.
    """
    others = sorted({entry.name for entry in entry_points(group="code_commit")} - PLUGINS)
    disabled = [word for name in others if name not in also for word in ("--disable-plugin", name)]
    return (code_commit(), *disabled)


@contextmanager
def commits(project: Path, home: Path) -> Iterator[tuple[Callable[..., Command], ScriptedServer]]:
    """Yield a function that gives a command in `project`, and the service of its models.

    Without arguments, the command is a whole commit with two calls and two builds.
    """
    home.mkdir(exist_ok=True)
    with ScriptedServer([BREAKS, MENDS] * (MOST_CALLS // 2)) as server:
        environment = {**server.environment(), "HOME": str(home)}

        def command(*arguments: str, also: Sequence[str] = (), exit_code: int = 0) -> Command:
            return Command(
                [*own_command(tuple(also)), *arguments], environment, lambda: project, exit_code
            )

        yield command, server
