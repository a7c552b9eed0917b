"""`code-commit undo` and `redo`: put the files back that a run changed, and bring them back."""

from __future__ import annotations

import re
import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from code_commit.cli.host import CommandHost
from code_commit.cli.parser import add_json
from code_commit.plugin_api.errors import ExitCode, NotReady, UsageError
from code_commit.plugin_api.run_files import DOCUMENT, LOGS, find_run, open_run_file, run_folders
from code_commit.plugin_api.run_summary import note_redone, note_undone
from code_commit.plugin_api.stored_json import read_json
from code_commit_workspace import STOP
from code_commit_workspace.words import count_by_folder, count_of, join_paths, printable

if TYPE_CHECKING:
    from code_commit_workspace import Undone

_SHOWN_PATHS = 10
_NAMED = 20  # paths in one message
_SEVERAL = re.compile(r"~(?P<count>[1-9]\d{0,3})")


def undo_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `undo`."""
    parser.description = "Restore the files that a run changed. `code-commit redo` takes it back."
    run = (
        "a folder in logs, a unique prefix of its name, latest, or ~2 for the last two "
        "(default: the latest, unless it is committed)"
    )
    parser.add_argument("run", nargs="?", metavar="RUN", help=run)
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="restore only these files and folders"
    )
    parser.add_argument(
        "--force", action="store_true", help="also replace changes of yours that overlap"
    )
    add_json(parser)


def undo(host: CommandHost, arguments: Namespace) -> int:
    """Move the files back that a run wrote, by default the latest run.

    Raises:
        NotReady: the run does not exist, there is nothing to undo, or changes of people overlap.
        UsageError: several runs, and paths.
    """
    name, count, paths = _selection(host, arguments)
    undone: list[Undone] = []
    with host.workspace(writes=True, repository="existing") as workspace:
        for _ in range(count):
            STOP.check()
            try:
                run = find_run(host.root, name).name if name else None
                with STOP.hold():
                    latest = workspace.store.undo(run, paths, force=arguments.force)
                    note_undone(host.root / LOGS / latest.run, latest.paths + latest.already)
            except NotReady as error:
                if not undone:
                    raise
                before = ", ".join(earlier.run for earlier in undone)
                raise NotReady(error.message, hint=f"undone before that: {before}") from error
            undone.append(latest)
            if not arguments.json:
                _print(host, latest)
    if arguments.json:
        host.out.document(
            {
                "run": undone[-1].run,
                "runs": [one.run for one in undone],
                "restored": _all(one.paths for one in undone),
                "merged": _all(one.merged for one in undone),
                "replaced": _all(one.replaced for one in undone),
                "left": _all(one.left for one in undone),
            }
        )
    return ExitCode.REACHED


def _all(paths: Iterable[Collection[str]]) -> list[str]:
    return sorted(set(chain.from_iterable(paths)))


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
        "Bring back what was restored last: by `code-commit undo`, or by a run that restored its "
        "files."
    )
    run = (
        "a folder in logs, a unique prefix of its name, or latest (default: "
        "the run whose files were restored last)"
    )
    parser.add_argument("run", nargs="?", metavar="RUN", help=run)
    add_json(parser)


def redo(host: CommandHost, arguments: Namespace) -> int:
    """Bring back what was moved back last.

    Raises:
        NotReady: nothing was, or changes of people overlap.
    """
    name = arguments.run and find_run(host.root, arguments.run).name
    with host.workspace(writes=True, repository="existing") as workspace, STOP.hold():
        redone = workspace.store.redo(name)
        note_redone(host.root / LOGS / redone.run, redone.paths + redone.already)
    if arguments.json:
        host.out.document(
            {
                "run": redone.run,
                "restored": list(redone.paths),
                "merged": list(redone.merged),
            }
        )
        return ExitCode.REACHED
    if redone.paths:
        host.out.note(f"brought back {count_of(len(redone.paths), 'file')} of {redone.run}")
    else:
        host.out.note(f"the files of {redone.run} are already back")
    _print_paths(host, redone)
    return ExitCode.REACHED


def _print(host: CommandHost, undone: Undone) -> None:
    # Also if stdout cannot be written.
    if undone.paths:
        host.out.note(f"restored {count_of(len(undone.paths), 'file')} from before {undone.run}")
    else:
        host.out.note(f"the files of {undone.run} are already as they were before it")
    _print_paths(host, undone)
    if commit := _commit_of(host.root / LOGS / undone.run):
        host.out.note(f"hint: the commit {commit} stays; {_how_to_revert(undone.paths)}")


def _print_paths(host: CommandHost, undone: Undone) -> None:
    """Print the paths, and what became of changes of people and builds."""
    notes = {
        "merged with your changes": undone.merged,
        "your changes are replaced, and `code-commit redo` brings them back": undone.replaced,
        "left, because no response wrote them": undone.left,
    }
    for text, paths in notes.items():
        if paths:
            host.out.note(printable(f"{text}: {join_paths(paths, _NAMED)}", newlines=False))
    for line in count_by_folder(undone.paths):
        host.out.line(line)


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
