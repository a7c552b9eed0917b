"""Keep the user's own configuration, and what it names, out of reach of builds and models.

Whoever can replace one of these files, or a folder or link on the way to it, decides what the next
run does: where keys are sent, what the sandbox opens, whether there is one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from code_commit.config.keys import named_key_files
from code_commit.config.sources import Source, sources, user_file
from code_commit.plugin_api.errors import NotReady
from code_commit.plugin_api.private_folder import PRIVATE_FOLDER
from code_commit_workspace import replaceable_places


def require_own_files_out_of_reach(root: Path, environ: Mapping[str, str]) -> None:
    """Check that nobody who writes in the project decides what the user's own configuration is.

    The project is at `root`. The same holds for folders in `sandbox.writable`, and for the files
    and folders that the configuration names.

    Raises:
        NotReady: a file, a folder or a link is in the project, or in such a folder.
    """
    own_file = user_file()
    user_source = sources(root, environ)[-1]
    writable = list(_opened(user_source, "writable", root))
    _require_out_of_reach(
        own_file,
        "your own configuration",
        root=root,
        writable=writable,
        elsewhere="set XDG_CONFIG_HOME to another place outside of it",
    )
    elsewhere = f"name another place in {own_file}"
    for path in named_key_files(user_source):
        subject = "the api_key_file of your own configuration,"
        _require_out_of_reach(path, subject, root=root, writable=writable, elsewhere=elsewhere)
    for setting in ("writable", "readable"):
        subject = f"sandbox.{setting} of your own configuration,"
        for path in _opened(user_source, setting, root):
            folders = [folder for folder in writable if folder != path]
            _require_out_of_reach(path, subject, root=root, writable=folders, elsewhere=elsewhere)


def _require_out_of_reach(
    path: Path,
    subject: str,
    *,
    root: Path,
    writable: Iterable[Path],
    elsewhere: str,
) -> None:
    """Check that no place on the way to `path` is in the project, or in a `writable` folder.

    `subject` names the path in the error; `elsewhere` is what the user can do.
    """
    private = root.resolve() / PRIVATE_FOLDER
    for folder in (root, *writable):
        where = f"in the project {root}"
        hint = f"move it out of the project, or {elsewhere}"
        if folder != root:
            where = f"in {folder}, which sandbox.writable opens"
            hint = f"remove {folder} from sandbox.writable, or {elsewhere}"
        for place in replaceable_places(path, folder):
            if place.is_relative_to(private):
                continue
            way = ""
            if place != path:
                way = f" leads through {place}, which"
            danger = "a build or a reply could change what the next run reads"
            raise NotReady(f"{subject} {path}{way} is {where}: {danger}", hint=hint)


def _opened(user_source: Source, setting: str, root: Path) -> Iterator[Path]:
    """Yield the paths in a list of `[sandbox]`; a relative one is in the project."""
    table = user_source.tables.get("sandbox")
    if not isinstance(table, Mapping) or not isinstance(table.get(setting), list):
        return
    for path in table[setting]:
        if isinstance(path, str):
            yield root / os.path.expanduser(path)  # noqa: PTH111 - leaves unknown users alone
