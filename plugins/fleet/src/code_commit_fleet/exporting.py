"""`fleet export`: patches in a folder, branches in local repositories, or a table."""

from __future__ import annotations

import argparse
import csv
import io
import re
import tempfile
from pathlib import Path

from code_commit.plugin_api import ExitCode, Host, NotReady, UsageError, count_of
from code_commit_fleet.fleet_folder import REACHED, FleetFolder, Tried, latest, waiting
from code_commit_fleet.plan import Unit, model_suffix
from code_commit_fleet.status import folder_of
from code_commit_workspace import Git, GitError, create_file, open_regular

_COLUMNS = (
    "unit",
    "repository",
    "model",
    "try",
    "outcome",
    "exit_code",
    "cost",
    "seconds",
    "attempts",
    "files",
    "branch",
    "error",
)
_FORMULA = re.compile(r"[=+\-@\t\r]")


def export(host: Host, arguments: argparse.Namespace) -> int:
    """Export the results. The exit code is 1 if a branch could not be created.

    Raises:
        NotReady: the fleet has not been run, or the output exists.
        UsageError: `--output` with `--branches`.
    """
    folder = folder_of(host, arguments.file)
    if arguments.branches:
        if arguments.output:
            raise UsageError(
                "--output cannot be used with --branches, "
                "which creates branches in the repositories"
            )
        return _branches(host, folder)
    if arguments.csv:
        return _table(host, folder, arguments.output)
    return _patches(host, folder, arguments.output)


def _reached(folder: FleetFolder) -> list[tuple[Unit, Tried]]:
    records = latest(folder.tries())
    rows = [(unit, records[unit.unit]) for unit in folder.plan().units if unit.unit in records]
    return [(unit, tried) for unit, tried in rows if tried.outcome == REACHED]


def _table(host: Host, folder: FleetFolder, output: str | None) -> int:
    records = latest(folder.tries())
    text = io.StringIO(newline="")
    table = csv.writer(text, lineterminator="\n")
    table.writerow(_COLUMNS)
    for unit in folder.plan().units:
        tried = records.get(unit.unit) or waiting(unit)
        row = tried.document() | {"files": len(tried.files)}
        table.writerow([_cell(row[name]) for name in _COLUMNS])
    if output is None:
        host.out.write(text.getvalue())
    else:
        _write_new(host.root / output, text.getvalue().encode())
    return ExitCode.REACHED


def _cell(value: object) -> object:
    """Return `value` as a cell that no spreadsheet treats as a formula."""
    if isinstance(value, str) and _FORMULA.match(value):
        return f"'{value}"
    return value


def _patches(host: Host, folder: FleetFolder, output: str | None) -> int:
    target = host.root / output if output else folder.file.with_suffix(".patches")
    rows = _reached(folder)
    try:
        target.mkdir()
    except FileExistsError:
        raise NotReady(
            f"{target} exists", hint="remove it, or choose another folder with --output"
        ) from None
    except OSError as error:
        raise NotReady(f"{target} cannot be created: {error.strerror}") from error
    has_models = len({unit.model for unit, _ in rows}) > 1
    for unit, _ in rows:
        suffix = model_suffix(unit.model) if has_models else ""
        _write_new(target / f"{unit.repository}{suffix}.patch", _patch_of(folder, unit))
    host.out.line(f"{count_of(len(rows), 'patch', 'patches')} in {target}")
    return ExitCode.REACHED


def _patch_of(folder: FleetFolder, unit: Unit) -> bytes:
    path = folder.unit_folder(unit.unit) / "change.patch"
    try:
        with open_regular(path) as file:
            return file.read()
    except OSError as error:
        raise NotReady(f"{path} cannot be read: {error.strerror}") from error


def _write_new(path: Path, data: bytes) -> None:
    try:
        create_file(path, data, 0o644)
    except FileExistsError:
        raise NotReady(f"{path} exists") from None
    except OSError as error:
        raise NotReady(f"{path} cannot be written: {error.strerror}") from error


def _branches(host: Host, folder: FleetFolder) -> int:
    """Create the branch of each reached unit in its repository.

    Neither its files nor its current branch change.
    """
    failures = 0
    branches = 0
    for unit, tried in _reached(folder):
        name = f"{unit.repository}: {unit.branch}"
        if not unit.commit:
            reason = f"{unit.url} is not on this machine; use --patches, or set push = true"
            host.out.note(f"{name}: {reason}")
            if not tried.branch:
                failures += 1
            continue
        try:
            host.out.line(f"{name} {_branch(unit, _patch_of(folder, unit))}")
            branches += 1
        except (GitError, NotReady) as error:
            host.out.error(f"{name}: {error.message}", error.hint)
            failures += 1
    host.out.line(count_of(branches, "branch", "branches"))
    return ExitCode.NOT_REACHED if failures else ExitCode.REACHED


def _branch(unit: Unit, patch: bytes) -> str:
    """Commit the patch on the commit that the unit started from, and point the branch to it.

    Raises:
        GitError: the patch does not apply, or the branch exists with different content.
    """
    git = Git(Path(unit.url))
    reference = f"refs/heads/{unit.branch}"
    with tempfile.TemporaryDirectory() as temporary:
        env = {"GIT_INDEX_FILE": str(Path(temporary) / "index")}
        git.run(["read-tree", unit.commit], env=env)
        git.run(["apply", "--cached", "--binary", "--whitespace=nowarn", "-"], stdin=patch, env=env)
        tree = git.run(["write-tree"], env=env).decode().strip()
    verify = ["rev-parse", "--verify", "--quiet", f"{reference}^{{tree}}"]
    existing = git.run(verify, check=False).decode().strip()
    if existing:
        if existing == tree:
            return "exists with this change"
        raise GitError("the branch exists with different content; it was not changed")
    message = unit.query.strip().splitlines()[0][:72]
    commit = git.run(["commit-tree", tree, "-p", unit.commit, "-m", message]).decode().strip()
    git.run(["update-ref", reference, commit, "0" * len(commit)])  # only a new branch
    return commit[:12]
