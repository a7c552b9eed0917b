"""`code-commit undo` and `redo`: put the files back that a run changed, and bring them back."""

from __future__ import annotations

import re
import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from code_commit.cli.host import CommandHost
from code_commit.cli.parser import add_json
from code_commit.plugin_api.errors import ExitCode, NotReady, UsageError
from code_commit.plugin_api.run_files import DOCUMENT, LOGS, find_run, open_run_file, run_folders
from code_commit.plugin_api.run_summary import note_redone, note_undone
from code_commit.plugin_api.stored_json import read_json
from code_commit.run.put_back import describe_put_back, take_killed_trials, trial_marker
from code_commit_workspace import STOP
from code_commit_workspace.words import count_by_folder, count_of, printable

if TYPE_CHECKING:
    from code_commit_workspace import Checkpoints, PutBack

_SHOWN_PATHS = 10
_SEVERAL = re.compile(r"~(?P<count>[1-9]\d{0,3})")


def undo_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `undo`."""
    parser.description = "Restore the files that a run changed. `code-commit redo` takes it back."
    run = (
        "a folder in logs, a unique prefix of its name, latest, or ~2 for the last two "
        "(default: the latest whose changes are there)"
    )
    parser.add_argument("run", nargs="?", metavar="RUN", help=run)
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="restore only these files and folders"
    )
    parser.add_argument(
        "--force", action="store_true", help="also restore files that were changed since the run"
    )
    add_json(parser)


def undo(host: CommandHost, arguments: Namespace) -> int:
    """Restore the files that a run changed, by default the latest run whose changes are there.

    Raises:
        NotReady: the run does not exist or wrote nothing, or files were changed since.
        UsageError: several runs, and paths.
    """
    name, count, paths = _selection(host, arguments)
    undone: list[tuple[str, PutBack]] = []
    with host.workspace(writes=True, repository="existing") as workspace:
        for text in take_killed_trials(workspace):
            host.out.note(f"warning: {text}")
        for _ in range(count):
            STOP.check()
            try:
                run = _run_to_undo(host, name, workspace.checkpoints)
                with STOP.hold():
                    put_back = workspace.checkpoints.undo(run, paths, force=arguments.force)
                    note_undone(host.root / LOGS / put_back.run, put_back.paths)
            except NotReady as error:
                if not undone:
                    raise
                before = ", ".join(run for run, _ in undone)
                raise NotReady(error.message, hint=f"undone before that: {before}") from error
            undone.append((put_back.run, put_back))
            if not arguments.json:
                _print(host, put_back.run, put_back)
    if arguments.json:
        host.out.document({
            "run": undone[-1][0],
            "runs": [run for run, _ in undone],
            "restored": sorted({path for _, put_back in undone for path in put_back.paths}),
            "edited": sorted({path for _, put_back in undone for path in put_back.edited}),
            "unclaimed": sorted({path for _, put_back in undone for path in put_back.unclaimed}),
            "moved": {path: place for _, put_back in undone for path, place in put_back.moved},
            "left_out": sorted({path for _, put_back in undone for path in put_back.left_out}),
        })  # fmt: skip
    return ExitCode.REACHED


def _selection(host: CommandHost, arguments: Namespace) -> tuple[str | None, int, list[str]]:
    """Return the name of the run to undo, or how many runs to undo, and the paths.

    Without a name, the latest runs are undone.

    Raises:
        UsageError: several runs, and paths.
    """
    name: str | None = arguments.run
    paths: list[str] = arguments.paths
    if not name:
        return None, 1, paths
    several = _SEVERAL.fullmatch(name)
    if several and paths:
        raise UsageError(f"{name} takes back whole runs, so it cannot be used with paths")
    if several:
        return None, int(several["count"]), []
    folders = run_folders(host.root)
    if name == "latest" or any(folder.name.startswith(name) for folder in folders):
        return name, 1, paths
    return None, 1, [name, *paths]


def redo_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `redo`."""
    parser.description = (
        "Bring back what was put back last: by `code-commit undo`, "
        "by a run that restored its files, or after a trial."
    )
    run = (
        "a folder in logs, a unique prefix of its name, or latest (default: "
        "the run whose files were put back last)"
    )
    parser.add_argument("run", nargs="?", metavar="RUN", help=run)
    add_json(parser)


def redo(host: CommandHost, arguments: Namespace) -> int:
    """Bring back the files that were put back last.

    Raises:
        NotReady: nothing was put back, or the files were changed since.
    """
    name = arguments.run and find_run(host.root, arguments.run).name
    with host.workspace(writes=True, repository="existing") as workspace, STOP.hold():
        run, brought_back = workspace.checkpoints.redo(name)
        trial_marker(workspace, run).unlink(missing_ok=True)
        note_redone(host.root / LOGS / run, brought_back)
    if arguments.json:
        host.out.document({"run": run, "restored": list(brought_back)})
        return ExitCode.REACHED
    host.out.note(f"brought back {count_of(len(brought_back), 'file')} of {run}")
    for line in count_by_folder(brought_back):
        host.out.line(line)
    return ExitCode.REACHED


def _print(host: CommandHost, run: str, put_back: PutBack) -> None:
    restored = put_back.paths
    # Also if stdout cannot be written.
    host.out.note(f"restored {count_of(len(restored), 'file')} from before {run}")
    for text in describe_put_back(put_back):
        host.out.note(printable(f"warning: {text}", newlines=False))
    for line in count_by_folder(restored):
        host.out.line(line)
    if commit := _commit_of(host.root / LOGS / run):
        host.out.note(f"hint: the commit {commit} stays; {_how_to_revert(restored)}")


def _how_to_revert(restored: Sequence[str]) -> str:
    add = "git add"
    if len(restored) <= _SHOWN_PATHS:
        add = f"git add -A -- {shlex.join(restored)}"
    return (
        f"`{add}` and `git commit` revert it, too (next time, use `git revert` instead of `undo`)"
    )


def _commit_of(folder: Path) -> str:
    """Return the commit that a run made, or an empty text."""
    with (
        suppress(OSError, ValueError, LookupError, TypeError, RecursionError),
        open_run_file(folder, DOCUMENT) as file,
    ):
        return str(read_json(file.read())["data"]["committed"])[:12]
    return ""


def _run_to_undo(host: CommandHost, name: str | None, checkpoints: Checkpoints) -> str | None:
    """Return the run called `name`; None is the latest one with changes that are there."""
    if not name:
        return None
    run = find_run(host.root, name).name
    if not checkpoints.of_run(run):
        raise NotReady(f"nothing to undo: {run} changed no files")
    return run
