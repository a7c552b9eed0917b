"""The code rollup: the code that a model sees, as one text, and a manifest of its files."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import BinaryIO

from code_commit.plugin_api import NotReady
from code_commit_commit.left_out import exclude_paths
from code_commit_workspace import ProjectTree, Workspace

FOLDER, NAME = "agent-config", "codeRollup.txt"
MANIFEST = "rollup.json"  # in the state folder
_BYTES_PER_TOKEN = 4  # the estimate of the services, for English and code
_LARGEST = 16 * 1024 * 1024  # bytes of one file
_POINTER = b"version https://git-lfs.github.com/spec/"
_BATCH = 4 * 1024 * 1024  # bytes
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(slots=True)
class Rollup:
    """Where each collected file begins and ends in the rollup, by path.

    `left_out` says why each other file that matches the patterns is not in it; `pointers` are collected files whose
    contents are in Git LFS. `size` is in bytes.
    """

    files: dict[str, tuple[int, int]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    pointers: list[str] = field(default_factory=list)
    size: int = 0

    @property
    def tokens(self) -> int:
        """The approximate number of tokens; the exact number depends on the model."""
        return self.size // _BYTES_PER_TOKEN


def roll_up(workspace: Workspace, *, include: Sequence[str], exclude: Sequence[str]) -> Rollup:
    """Write `agent-config/codeRollup.txt`, and the manifest to the state folder.

    The rollup contains every text file that git tracks or does not ignore and that a model may read, sorted, each after
    a line `--- path ---`. `include` and `exclude` are `.gitignore` patterns; without `include`, all files match.
    `exclude_paths` leaves some out by default. Files are read one by one, so that a large project need not fit into
    memory.

    Raises:
        NotReady: there is no git repository, or the rollup cannot be written.
        ValueError: a pattern is malformed.
    """
    tree, all_paths = workspace.project, workspace.listed()
    found, refused = workspace.select(include, among=all_paths)
    paths, left_out = exclude_paths(found, exclude)
    if not paths:
        raise NotReady("there is nothing to collect", hint="no file that git tracks here matches the patterns")
    try:
        os.makedirs(tree.root / FOLDER, mode=0o700, exist_ok=True)  # noqa: PTH103 - one call
        with tree.folder(FOLDER) as folder:
            handle = os.open(f".{NAME}.new", _NEW, 0o600, dir_fd=folder)
            with open(handle, "wb") as file:  # noqa: PTH123 - a handle
                rollup, digest = _collect(tree, paths, file)
            os.replace(f".{NAME}.new", NAME, src_dir_fd=folder, dst_dir_fd=folder)
        rollup.left_out |= left_out | {
            path: "It is another git repository." if path.endswith("/") else refused[path].reason
            for path in exclude_paths(list(refused), exclude)[0]
        }
        _write_manifest(workspace, digest, rollup, sorted(all_paths - rollup.files.keys()))
    except OSError as error:
        raise NotReady(f"cannot write {tree.root / FOLDER / NAME}: {error.strerror}") from error
    return rollup


def _collect(tree: ProjectTree, paths: Sequence[str], file: BinaryIO) -> tuple[Rollup, str]:
    rollup, digest = Rollup(), hashlib.sha256()

    def write(pieces: list[bytes]) -> None:
        text = b"".join(pieces)
        digest.update(text)
        file.write(text)

    pieces: list[bytes] = []
    full = _BATCH
    with ThreadPoolExecutor(1, "rollup") as executor:  # one batch is hashed and written while the next is read
        written = executor.submit(write, [])
        for path, content in tree.contents(paths, _LARGEST):
            if content is None or not _is_text(content):
                rollup.left_out[path] = "It is not UTF-8 text." if content is not None else _unreadable(tree, path)
                continue
            if content.startswith(_POINTER):
                rollup.pointers.append(path)
            head = f"--- {path} ---\n".encode()
            tail = b"" if not content or content.endswith(b"\n") else b"\n"
            pieces += (head, content, tail)
            start = rollup.size + len(head)
            end = start + len(content)
            rollup.files[path] = start, end
            rollup.size = end + len(tail)
            if rollup.size >= full:
                full = rollup.size + _BATCH
                written.result()
                written = executor.submit(write, pieces)
                pieces = []
        written.result()
        write(pieces)
    return rollup, digest.hexdigest()


def _is_text(content: bytes) -> bool:
    """Return whether a prompt can contain `content`: UTF-8 without NUL."""
    if b"\0" in content:
        return False
    try:
        return content.isascii() or bool(content.decode())
    except UnicodeDecodeError:
        return False


def _unreadable(tree: ProjectTree, path: str) -> str:
    with suppress(OSError):
        if (status := tree.lstat(path)) and status.st_size > _LARGEST:
            return "It is larger than 16 MiB."
    return "It cannot be read."


def _write_manifest(workspace: Workspace, digest: str, rollup: Rollup, others: list[str]) -> None:
    """Write the manifest: where each file is in the rollup, and the `others` in the project.

    Readers ignore a manifest of another rollup, so the rollup may be replaced first.
    """
    manifest = {"version": 2, "rollup": digest, "files": rollup.files, "others": others}
    text = json.dumps(manifest) + "\n"
    with workspace.project.folder(str(workspace.state_folder.relative_to(workspace.root))) as folder:
        handle = os.open(f".{MANIFEST}.new", _NEW, 0o600, dir_fd=folder)
        with open(handle, "w", encoding="utf-8") as file:  # noqa: PTH123 - a handle
            file.write(text)
        os.replace(f".{MANIFEST}.new", MANIFEST, src_dir_fd=folder, dst_dir_fd=folder)
