"""The code rollup: the code that a model sees, as one text, and a manifest of its files."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Queue
from threading import Thread
from typing import BinaryIO

from code_commit.plugin_api import NotReady
from code_commit_commit.left_out import exclude_paths
from code_commit_workspace import ProjectTree, Workspace

FOLDER, NAME = "agent-config", "codeRollup.txt"
MANIFEST = "rollup.json"  # in the state folder
_BYTES_PER_TOKEN = 4  # the estimate of the services, for English and code
_LARGEST = 16 * 1024 * 1024  # bytes of one file
_POINTER = b"version https://git-lfs.github.com/spec/"
_BATCH = 1024 * 1024  # bytes; a larger one does not stay in the processor's cache
_WAITING = 2  # batches
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
        others = sorted(all_paths - rollup.files.keys())
        _write_manifest(workspace, digest, rollup, {"others": others, "include": include, "exclude": exclude})
    except OSError as error:
        raise NotReady(f"cannot write {tree.root / FOLDER / NAME}: {error.strerror}") from error
    return rollup


def _collect(tree: ProjectTree, paths: Sequence[str], file: BinaryIO) -> tuple[Rollup, str]:
    """Write the rollup to `file`. A thread hashes and writes one batch while the next is read."""
    rollup, digest = Rollup(), hashlib.sha256()
    batches: Queue[bytes | None] = Queue(_WAITING)
    failed: list[BaseException] = []

    def write() -> None:
        while (text := batches.get()) is not None:  # after a failure too, or `put` waits forever
            try:
                digest.update(text)
                file.write(text)
            except BaseException as error:  # noqa: BLE001 - raised by the caller's thread
                failed.append(error)

    writer = Thread(target=write, name="rollup", daemon=True)
    writer.start()
    try:
        for text in _batches(tree, paths, rollup):
            batches.put(text)
            if failed:
                break
    finally:
        batches.put(None)
        writer.join()
    if failed:
        raise failed[0]
    return rollup, digest.hexdigest()


def _batches(tree: ProjectTree, paths: Sequence[str], rollup: Rollup) -> Iterator[bytes]:
    """Yield the text of the rollup, and describe it in `rollup`."""
    batch: list[tuple[str, bytes]] = []
    size = 0
    for path, content in tree.contents(paths, _LARGEST):
        if content is None:
            rollup.left_out[path] = _unreadable(tree, path)
            continue
        batch.append((path, content))
        size += len(content)
        if size >= _BATCH:
            yield _add(batch, rollup)
            batch.clear()
            size = 0
    yield _add(batch, rollup)


def _add(batch: Sequence[tuple[str, bytes]], rollup: Rollup) -> bytes:
    """Describe the files of `batch` in `rollup`; return their text."""
    text, places = _joined(batch, rollup.size)
    if not text.isascii() or b"\0" in text:
        texts = [(path, content) for path, content in batch if _is_text(content)]
        if len(texts) < len(batch):
            text, places = _joined(texts, rollup.size)
            rollup.left_out |= {path: "It is not UTF-8 text." for path, _ in batch if path not in places}
    rollup.files |= places
    rollup.pointers += [path for path, content in batch if content.startswith(_POINTER) and path in places]
    rollup.size += len(text)
    return text


def _joined(batch: Sequence[tuple[str, bytes]], size: int) -> tuple[bytes, dict[str, tuple[int, int]]]:
    """Return the text of the files in `batch`, and where each begins and ends after the `size` bytes before it."""
    pieces: list[bytes] = []
    places: dict[str, tuple[int, int]] = {}
    for path, content in batch:
        head = f"--- {path} ---\n".encode()
        start = size + len(head)
        size = start + len(content)
        places[path] = start, size
        pieces += head, content
        if content and not content.endswith(b"\n"):
            pieces.append(b"\n")
            size += 1
    return b"".join(pieces), places


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


def _write_manifest(workspace: Workspace, digest: str, rollup: Rollup, more: Mapping[str, Sequence[str]]) -> None:
    """Write the manifest: where each file is in the rollup, and `more`: the other files in the project, the patterns.

    Readers ignore a manifest of another rollup, so the rollup may be replaced first.
    """
    manifest = {"version": 2, "rollup": digest, "files": rollup.files, **more}
    text = json.dumps(manifest) + "\n"
    with workspace.project.folder(str(workspace.state_folder.relative_to(workspace.root))) as folder:
        handle = os.open(f".{MANIFEST}.new", _NEW, 0o600, dir_fd=folder)
        with open(handle, "w", encoding="utf-8") as file:  # noqa: PTH123 - a handle
            file.write(text)
        os.replace(f".{MANIFEST}.new", MANIFEST, src_dir_fd=folder, dst_dir_fd=folder)
