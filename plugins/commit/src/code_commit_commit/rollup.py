"""The code rollup: the code that a model sees, as one text, and a manifest of its files."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from queue import Queue
from threading import Thread
from typing import TYPE_CHECKING, Any, BinaryIO

from code_commit.plugin_api import NotReady
from code_commit_commit.left_out import exclude_paths
from code_commit_commit.rollup_text import LARGEST, UNREADABLE, Batch, Rollup, add, batches
from code_commit_commit.selected_code import LABEL
from code_commit_workspace import ProjectTree, Workspace

if TYPE_CHECKING:
    from code_commit_commit.recorded_rollup import RecordedChoice
    from code_commit_commit.selected_code import SelectedCode

FOLDER, NAME = "agent-config", "codeRollup.txt"
MANIFEST = "rollup.json"  # in the state folder
_WAITING = 2  # batches
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


def roll_up(workspace: Workspace, *, include: Sequence[str], exclude: Sequence[str]) -> Rollup:
    """Write `agent-config/codeRollup.txt`, and the manifest to the state folder.

    The rollup contains every text file that git tracks or does not ignore and that a model may
    read, sorted, each after a line `--- path ---`. `include` and `exclude` are `.gitignore`
    patterns; without `include`, all files match. `exclude_paths` leaves some out by default. Files
    are read one by one, so that a large project need not fit into memory.

    Raises:
        NotReady: there is no git repository, or the rollup cannot be written.
        ValueError: a pattern is malformed.
    """
    tree, all_paths = workspace.project, workspace.listed()
    matching, refused = workspace.select(include, among=all_paths)
    paths, left_out = exclude_paths(matching, exclude, workspace.tree)
    if not paths:
        raise NotReady(
            "there is nothing to collect", hint="no file that git tracks here matches the patterns"
        )
    try:
        os.makedirs(tree.root / FOLDER, mode=0o700, exist_ok=True)  # noqa: PTH103 - one call
        with tree.folder(FOLDER) as folder, _replacing(folder, NAME) as file:
            rollup, checksum = _collect(tree, paths, file)
        state = str(workspace.state_folder.relative_to(workspace.root))
        rollup.left_out |= left_out | {
            path: "It is another git repository." if path.endswith("/") else refused[path].reason
            for path in exclude_paths(list(refused), exclude)[0]
            if not path.startswith(f"{state}/")  # listed if git does not ignore it yet
        }
        members = {
            "others": sorted(all_paths - rollup.files.keys()),
            "include": include,
            "exclude": exclude,
            "choice": None,
        }
        _write_manifest(tree, state, checksum, rollup, members)
    except OSError as error:
        raise NotReady(f"cannot write {tree.root / FOLDER / NAME}: {error.strerror}") from error
    return rollup


def roll_up_choice(
    workspace: Workspace,
    code: SelectedCode,
    choice: RecordedChoice,
    *,
    include: Sequence[str],
    exclude: Sequence[str],
) -> Rollup:
    """Write a rollup of the files and the map that a context chose, and its manifest.

    Raises:
        NotReady: it cannot be written.
    """
    tree = workspace.project
    text, rollup = code.rollup()
    if code.map:
        names = f"[{LABEL}]\n{code.map}".encode()
        rollup.text.add(names)
        text += names
    others = [path for path in workspace.files() if path not in rollup.files]
    members = {
        "others": others,
        "include": include,
        "exclude": exclude,
        "choice": choice.document,
    }
    try:
        os.makedirs(tree.root / FOLDER, mode=0o700, exist_ok=True)  # noqa: PTH103 - one call
        with tree.folder(FOLDER) as folder, _replacing(folder, NAME) as file:
            file.write(text)
        state = str(workspace.state_folder.relative_to(workspace.root))
        _write_manifest(tree, state, zlib.crc32(text), rollup, members)
    except OSError as error:
        raise NotReady(f"cannot write {tree.root / FOLDER / NAME}: {error.strerror}") from error
    return rollup


def _collect(tree: ProjectTree, paths: Sequence[str], file: BinaryIO) -> tuple[Rollup, int]:
    """Write the rollup to `file`. Return it and its checksum.

    A thread checks, joins and writes one batch while the next is read.
    """
    rollup, checksum = Rollup(), 0
    waiting: Queue[Batch | None] = Queue(_WAITING)
    failed: list[BaseException] = []

    def write() -> None:
        nonlocal checksum
        arriving = iter(waiting.get, None)
        try:
            for batch in arriving:
                text = add(batch, rollup)
                checksum = zlib.crc32(text, checksum)
                file.write(text)
        except BaseException as error:  # noqa: BLE001 - raised by the caller's thread
            failed.append(error)
        for _ in arriving:
            pass  # after a failure, or `put` waits forever

    writer = Thread(target=write, name="rollup", daemon=True)
    writer.start()
    try:
        for batch in batches(tree.contents(paths, LARGEST)):
            waiting.put(batch)
            if failed:
                break
    finally:
        waiting.put(None)
        writer.join()
    if failed:
        raise failed[0]
    rollup.left_out = {path: _reason(tree, path, why) for path, why in rollup.left_out.items()}
    return rollup, checksum


def _reason(tree: ProjectTree, path: str, reason: str) -> str:
    with suppress(OSError):
        if reason == UNREADABLE and (status := tree.lstat(path)) and status.st_size > LARGEST:
            return "It is larger than 16 MiB."
    return reason


def _write_manifest(
    tree: ProjectTree,
    state: str,
    checksum: int,
    rollup: Rollup,
    more: Mapping[str, Any],
) -> None:
    """Write the manifest to the folder `state`.

    It has the place of each file in the rollup, and `more` members.

    Readers ignore a manifest of another rollup, so the rollup may be replaced first.
    """
    manifest = {"version": 3, "rollup": checksum, "files": rollup.files, **more}
    with tree.folder(state) as folder, _replacing(folder, MANIFEST) as file:
        file.write(json.dumps(manifest).encode() + b"\n")


@contextmanager
def _replacing(folder: int, name: str) -> Iterator[BinaryIO]:
    """Open a file that replaces `name` after the block; remove it if the block raises."""
    new = f".{name}.new"
    try:
        with open(os.open(new, _NEW, 0o600, dir_fd=folder), "wb") as file:  # noqa: PTH123 - a handle
            yield file
        os.replace(new, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(new, dir_fd=folder)
        raise
