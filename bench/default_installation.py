"""What most people run: `[gemini,report]`, in a project with a scripted service."""

from __future__ import annotations

import atexit
import shutil
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from importlib.metadata import distributions
from pathlib import Path

from harness import Command
from project import BREAKS, MENDS, restored

from code_commit_testing import ScriptedServer

PLUGINS = {"commit", "history", "gemini", "acceptance", "context", "html"}
MOST_CALLS = 100_000
# As pip writes it.
SCRIPT = """\
#!{python}
import sys
from code_commit.__main__ import main
sys.exit(main())
"""


@cache
def own_command(also: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the command in an environment without the plugins that the default one lacks.

    The environment has links to the distributions of this one. `also` are further plugins that it
    has.
    """
    lacking = {
        _spelled(distribution.name)
        for distribution in distributions()
        for entry in distribution.entry_points
        if entry.group.startswith("code_commit") and entry.name not in {*PLUGINS, *also}
    }
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    venv.create(folder, symlinks=True)
    python = folder / "bin/python"
    installed = Path(sysconfig.get_path("purelib"))
    site_packages = folder / installed.relative_to(sys.prefix)
    for path in installed.iterdir():
        name = path.name.removesuffix(".pth").removeprefix("_editable_impl_").partition("-")[0]
        if name not in lacking:
            (site_packages / path.name).symlink_to(path)
    command = folder / "bin/code-commit"
    command.write_text(SCRIPT.format(python=python))
    command.chmod(0o755)
    return (str(command),)


def _kept(project: Path) -> Path:
    return project


def _spelled(name: str) -> str:
    """Return the name of a distribution as its files spell it."""
    return name.replace("-", "_")


@contextmanager
def commits(project: Path, home: Path) -> Iterator[tuple[Callable[..., Command], ScriptedServer]]:
    """Yield a function that gives a command in `project`, and the service of its models.

    Without arguments, the command is a whole commit with two calls, two builds and two written
    files: what an earlier one wrote is taken back first.
    """
    home.mkdir(exist_ok=True)
    with ScriptedServer([BREAKS, MENDS] * (MOST_CALLS // 2)) as server:
        environment = {**server.environment(), "HOME": str(home)}

        def command(*arguments: str, also: Sequence[str] = (), exit_code: int = 0) -> Command:
            prepare = partial(_kept if arguments else restored, project)
            return Command([*own_command(tuple(also)), *arguments], environment, prepare, exit_code)

        yield command, server
