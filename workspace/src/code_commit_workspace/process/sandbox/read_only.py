"""Explain why a build failed in the sandbox: it wrote to a place that is read-only there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from code_commit_workspace.files.path_kinds import exists, is_file
from code_commit_workspace.files.path_text import within

_READ_ONLY = re.compile(r"EROFS|read-only file ?system", re.IGNORECASE)
# npm, pnpm, Yarn and Maven report nothing more.
_ABSENT = re.compile(
    r"ENOENT|no such file or directory"
    r"|could not create local repository|failed to create parent directories",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]{1,30}://\S+", re.IGNORECASE)
_QUOTED = re.compile(r"""['"`\u2018\u201c](/[^'"`\u2019\u201d\n]+)""")
_PLAIN = re.compile(r"""(?<![\w.:/])(/[^\s'"`:,;()<>\[\]]+)""")
_LINES_BEFORE = 3  # cargo prints the path above the reason
_DEEP = {".config": 2, ".local": 3, ".cargo": 2}  # folders that many programs share
# Files and folders from which other programs run code outside of the sandbox: no advice names them.
_RUN_BY_OTHERS = (
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".gitconfig",
    ".config/git",
    ".config/fish",
    ".config/systemd",
    ".config/autostart",
    ".config/environment.d",
    ".local/bin",
    ".local/lib",
    ".cargo/bin",
    ".pyenv",
    ".vim",
    ".vimrc",
    "bin",
)


def read_only_advice(
    output: str,
    *,
    project: str,
    homes: Sequence[str],
    writable: Iterable[str],
    may_open: Callable[[str], bool],
) -> str:
    """Return one line with what the user can do if `output` shows a failed write, else "".

    It failed because the place is read-only in the sandbox. `~` is the first of `homes`;
    `may_open` returns whether `sandbox.writable` may name a folder.
    """
    lines = output.splitlines()
    opened = (project, *writable)
    for number, line in enumerate(lines):
        if _READ_ONLY.search(line):
            path = _last_path(lines[max(0, number - _LINES_BEFORE) : number + 1])
            if path and not within(path, project):
                return _how_to_open(path, homes, may_open)
            places = "other files of the project" if path else "everything outside the project"
            reason = " ".join(line.split())
            return f"the sandbox keeps .git, build.sh and {places} read-only: {reason}"
        if _ABSENT.search(line):
            for path in _paths(line):
                home = _home(path, homes)  # a home folder may lie in /tmp
                above = [folder for folder in opened if within(folder, home or "/")]
                is_opened = any(within(path, folder) for folder in above)
                if not is_opened and not exists(path) and (home or "mkdir" in line):
                    return _how_to_open(path, homes, may_open)
    return ""


def _last_path(lines: Sequence[str]) -> str:
    """Return the first path in the last of `lines` that has one, or ""."""
    return next((path for line in reversed(lines) for path in _paths(line)), "")


def _paths(line: str) -> Iterator[str]:
    text = _ADDRESS.sub("", line)
    quoted = _QUOTED.findall(text)
    plain = _PLAIN.findall(_QUOTED.sub("", text))
    yield from filter(None, (path.rstrip("/.") for path in (*quoted, *plain)))


def _home(path: str, homes: Sequence[str]) -> str:
    return next((home for home in homes if within(path, home)), "")


def _how_to_open(path: str, homes: Sequence[str], may_open: Callable[[str], bool]) -> str:
    """Return the advice for a write to `path`."""
    folder = next(filter(may_open, _folders(path, _home(path, homes))), "")
    if not folder:
        return (
            f"{path} cannot be written in the sandbox; change the build to write inside the "
            "project, for example to a virtual environment there"
        )
    if within(folder, homes[0]):
        folder = f"~/{Path(folder).relative_to(homes[0])}"
    return (
        f"{path} cannot be written in the sandbox; if builds need it, create the folder and add "
        f'this to your own configuration: sandbox.writable = ["{folder}"]'
    )


def _folders(path: str, home: str) -> Iterator[str]:
    """Yield the folders that could be opened for a write to `path`.

    In a home folder, they are all folders on the way, the outermost first.
    """
    if not home:
        yield str(Path(path).parent)
        return
    parts = Path(path).relative_to(home).parts
    if not parts:
        return
    for depth in range(_DEEP.get(parts[0], 1), len(parts) + 1):
        folder = str(Path(home, *parts[:depth]))
        is_run = any(within(folder, f"{home}/{name}") for name in _RUN_BY_OTHERS)
        if not is_run and not is_file(folder):
            yield folder
