"""The plan of a change set: the old and new state of each path."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from dataclasses import dataclass
from typing import Literal

from code_commit_workspace.files.folding import folded
from code_commit_workspace.files.project_tree import parts_of
from code_commit_workspace.move.disk import flush_files, write_file

PLAN = "plan"  # its file in the folder of a stage


@dataclass(frozen=True, slots=True)
class FileStep:
    """One path: its old and its new state."""

    path: str
    old: Literal["absent", "linked", "copied"]
    new: str | None  # `contents.digest` of the new file or link; None if it is removed
    old_mode: int = 0  # permission bits of a copied file
    old_time: int = 0  # its modification time, in nanoseconds
    old_digest: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole set of changes."""

    token: str  # part of each temporary name next to a target
    files: tuple[FileStep, ...]
    # Folders that may be removed, outermost first, with their permission bits.
    gone: tuple[tuple[str, int], ...]
    made: tuple[str, ...]  # folders to create, outermost first
    log: str = ""  # the log that tells of the change
    log_size: int = 0  # without the line that does
    keeps_line: bool = True  # if files stay because somebody changed them since

    def temporary_name(self, number: int) -> str:
        """Return the temporary name of file `number` in its target's folder.

        It is used across a mount point.
        """
        return f".code-commit-{self.token}-{number}"

    def encode(self) -> bytes:
        """Return the stored form: one line of JSON, and one line with its SHA-256."""
        fields = FileStep.__slots__
        files = [{field: getattr(step, field) for field in fields} for step in self.files]
        plan = {
            "token": self.token,
            "files": files,
            "gone": self.gone,
            "made": self.made,
            "log": self.log,
            "log_size": self.log_size,
            "keeps_line": self.keeps_line,
        }
        text = json.dumps(plan)
        checksum = hashlib.sha256(text.encode()).hexdigest()
        return f"{text}\n{checksum}\n".encode()


def write_plan(folder: int, plan: Plan) -> None:
    """Write `plan` into the folder of a stage, and make the whole folder survive a power loss."""
    os.close(write_file(folder, PLAN, plan.encode(), 0o600))
    names = [name for name in os.listdir(folder) if not stat.S_ISLNK(_mode(folder, name))]
    flush_files(folder, names)


def _mode(folder: int, name: str) -> int:
    return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode


def check_path(path: str, private_folder: str) -> None:
    """Check that a move may touch `path`.

    The guard checks changes, but not the paths of a stored journal.

    Raises:
        ValueError: it is not a plain relative path, cannot be encoded, or leads into `.git` or the
            `private_folder`.
    """
    os.fsencode(path)
    # Some file systems ignore case, and dots and spaces at the end of a name.
    parts = [folded(part).rstrip(". ") for part in parts_of(path)]
    if "\0" in path or ".git" in parts or parts[0] == folded(private_folder).rstrip(". "):
        raise ValueError(f"{path!r} is a path that no move can change")
