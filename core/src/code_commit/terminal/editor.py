"""Let a person write a text, or change a file, in their editor."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from code_commit_workspace import STOP, find_program
from code_commit_workspace.words import describe_ending


def edited(draft: str, root: Path) -> str:
    """Open `draft` in the user's editor, as `edit_file` does, and return the edited text."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="code-commit-") as folder:
        file = Path(folder, "answer.md")
        file.write_text(draft, "utf-8")
        edit_file(file, root)
        return file.read_text("utf-8", "replace").rstrip()


def edit_file(file: Path, root: Path) -> None:
    """Open `file` in the user's editor, and return when the editor ends.

    The editor is VISUAL or EDITOR, by default vi. It is never a program in `root`.

    Raises:
        OSError, ValueError: there is no editor, or it failed; the message says why.
        Interrupted: a signal came.
    """
    import subprocess

    command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    program: str | None = None
    if command:
        program = command[0]
        if "/" not in program:
            program = find_program(program, root)
    if not program:
        raise ValueError("no editor was found; set the variable EDITOR")
    with (
        subprocess.Popen([program, *command[1:], str(file)]) as process,
        STOP.child(process.terminate),  # so that the editor may clean up
    ):
        exit_code = process.wait()
    STOP.check()
    if exit_code:
        raise ValueError(f"{command[0]} {describe_ending(exit_code)}")
