"""A repository whose own settings have no effect: git gets another common folder.

git takes configuration, attributes and hooks from the common folder (`GIT_COMMON_DIR`, meant for
linked work trees). Ours has links to objects and refs, a configuration of chosen settings, and no
hooks.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.path_text import within
from code_commit_workspace.git.common_folder import CommonFolder
from code_commit_workspace.git.config import Settings, choose, config_text, read_of_user
from code_commit_workspace.git.config_file import Entry, parse_config
from code_commit_workspace.git.control_files import ControlFiles, require_plain
from code_commit_workspace.git.layout import TRUE, GitError, Place, foreign_part, read_git_file
from code_commit_workspace.git.process import failure, run_git

_SECONDS = 30.0  # to read the user's files
_NO_FILES = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


@dataclass(frozen=True, slots=True)
class Layout:
    """The top of a work tree, and where git keeps its files.

    `folders` are its own git folder and the one that linked work trees share. `object_format` is
    the hash of object ids, `sha1` or `sha256`. A `sparse` work tree leaves tracked files out.
    `excludes_file` has the user's own ignore rules, "" if no setting names one, and `ignores_case`
    is whether these rules ignore it.
    """

    top: Path
    folders: tuple[Path, ...]
    index: Path
    objects: Path
    object_format: str
    sparse: bool
    excludes_file: str
    ignores_case: bool


class Repository:
    """The repository at `place`, with the settings that counted when it was opened.

    `environ` tells git where it is; `programs` are settings for commits, which may run the user's
    filters and signer.
    """

    def __init__(self, place: Place, settings: Settings, folder: CommonFolder) -> None:
        self.place = place
        folders = tuple(dict.fromkeys([place.folder, place.common]))
        data = dict(settings.data)
        self.layout = Layout(
            top=place.top,
            folders=folders,
            index=place.folder / "index",
            objects=place.common / "objects",
            object_format=settings.object_format,
            sparse=_is_on(data, "core.sparsecheckout"),
            excludes_file=data.get("core.excludesfile", ""),
            ignores_case=_is_on(data, "core.ignorecase"),
        )
        self._settings = settings
        self._folder = folder
        self.environ = _names(place, folder.path) | _NO_FILES
        self.control_files = ControlFiles(place.top, folders, _files_of_user(settings))
        # git-lfs keeps new files next to git's, in the real folder.
        self.programs = (("lfs.storage", str(place.common / "lfs")), *settings.programs)

    def prepare_commit(self) -> None:
        """Create the folder of the reference logs, which git cannot create through a link.

        Raises:
            GitError: it cannot be created.
        """
        logs = self.place.common / "logs"
        try:
            logs.mkdir(exist_ok=True)
        except OSError as error:
            raise GitError(f"{logs} cannot be created: {error.strerror}") from error

    def settings_for(self, more: Sequence[Entry]) -> dict[str, str]:
        """Return variables that add the programs and `more` settings.

        They name a file with these, because there may be thousands.

        Raises:
            NotReady: the file cannot be written.
        """
        path = self._folder.write_settings(config_text([*self.programs, *more]))
        return {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "include.path",
            "GIT_CONFIG_VALUE_0": str(path),
        }

    def hooks(self, root: Path) -> Path:
        """Return the folder of the repository's hooks.

        Raises:
            NotReady: it is in the project, where a model can write.
        """
        folder = self.place.common / "hooks"
        if self._settings.hooks:
            folder = self.place.top / Path(self._settings.hooks).expanduser()
        real = os.path.realpath(folder)
        is_in_project = within(real, os.path.realpath(root))
        if is_in_project and not within(real, str(self.place.common)):
            raise NotReady(
                f"the repository's hooks are in {folder}, where a model can write",
                hint="set core.hooksPath to a folder outside the project, or commit without hooks",
            )
        return folder


def open_repository(
    place: Place,
    root: Path,
    program: str,
    environ: Mapping[str, str],
) -> Repository:
    """Open the repository at `place` for commands in `root`.

    `program` is git, `environ` its environment.

    Raises:
        GitError: its configuration cannot be read, or it is not the user's.
    """
    files = (
        place.common / "config",
        place.folder / "config.worktree",
        Path(environ.get("HOME", "/"), ".gitconfig"),
    )
    stamps = tuple(_stamp(file) for file in files)
    return _opened(place, root, program, tuple(environ.items()), stamps)


@lru_cache(maxsize=4)
def _opened(
    place: Place,
    root: Path,
    program: str,
    environ: tuple[tuple[str, str], ...],
    stamps: tuple[tuple[int, ...], ...],  # a changed file is read again
) -> Repository:
    del stamps
    folder = CommonFolder(place.common)
    own = _own_settings(place)
    command = [program, "--no-pager", "config", "--list", "-z", "--show-scope", "--show-origin"]
    names = _names(place, folder.path)
    require_plain(_configuration_of_user(dict(environ)))
    completed = run_git(command, root, dict(environ) | names, timeout=_SECONDS)
    if completed.returncode:
        raise failure(command[1:], completed)
    settings = choose(read_of_user(completed.stdout, root), own)
    if not place.is_ours:
        _require_usable(place, dict(own), settings.trusted_folders, dict(environ))
    folder.write_config(settings.text())
    return Repository(place, settings, folder)


def _own_settings(place: Place) -> list[Entry]:
    """Return the settings in the repository's own files, without the files that those include."""
    entries: list[Entry] = []
    for file in (place.common / "config", place.folder / "config.worktree"):
        if not entries or _is_on(dict(entries), "extensions.worktreeconfig"):
            entries += parse_config(os.fsdecode(_content(file)), str(file))
    return entries


def _is_on(settings: Mapping[str, str], name: str) -> bool:
    return settings.get(name, "").lower() in TRUE


def _content(file: Path) -> bytes:
    try:
        return read_git_file(file)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise GitError(f"{file} cannot be read: {error.strerror}") from error


def _configuration_of_user(environ: Mapping[str, str]) -> tuple[Path, ...]:
    if file := environ.get("GIT_CONFIG_GLOBAL"):
        return (Path(file),)
    home = environ.get("HOME", "/")
    folder = environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    return Path(home, ".gitconfig"), Path(folder, "git/config")


def _files_of_user(settings: Settings) -> tuple[Path, ...]:
    """Return the user's files of rules and attributes, also where git looks without a setting."""
    home = os.path.expanduser("~")  # noqa: PTH111 - it does not raise
    folder = os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    files = [Path(folder, "git/ignore"), Path(folder, "git/attributes")]
    for name, value in settings.data:
        if name in {"core.excludesfile", "core.attributesfile"} and value:
            files.append(Path(os.path.expanduser(value)))  # noqa: PTH111 - as above
    return tuple(files)


def _require_usable(
    place: Place,
    settings: Mapping[str, str],
    trusted: Sequence[str],
    environ: Mapping[str, str],
) -> None:
    """Check that git would use the repository at `place`, as the work tree that it is.

    `settings` are those of the repository itself; `trusted` are values of `safe.directory`.

    Raises:
        GitError: another user owns a part of it, it is bare, or it has another work tree.
    """
    foreign = foreign_part(place, environ)
    if foreign and not _is_trusted(place.top, trusted):
        folder = shlex.quote(str(place.top))
        raise GitError(
            f"detected dubious ownership in repository at '{place.top}': "
            f"{foreign} belongs to another user",
            hint=f"if you trust it, `git config --global --add safe.directory {folder}`",
        )
    if place.folder == place.common and _is_on(settings, "core.bare"):
        raise GitError(f"{place.folder} is a bare repository: it has no work tree")
    work_tree = settings.get("core.worktree")
    if work_tree and os.path.realpath(place.folder / work_tree) != str(place.top):
        raise GitError(
            f"core.worktree in {place.common / 'config'} names another work tree than {place.top}"
        )


def _is_trusted(top: Path, trusted: Sequence[str]) -> bool:
    """Return whether `safe.directory` names `top`; an empty value cancels those before it."""
    is_trusted = False
    for value in trusted:
        if not value:
            is_trusted = False
        elif value == "*" or _names_folder(value, str(top)):
            is_trusted = True
    return is_trusted


def _names_folder(value: str, top: str) -> bool:
    """Return whether a value of `safe.directory` is `top`, or a folder above it and `/*`."""
    folder = os.path.realpath(os.path.expanduser(value.removesuffix("/*")))  # noqa: PTH111 - also without a home
    if folder == top:
        return True
    return value.endswith("/*") and within(top, folder)


def _names(place: Place, common: Path) -> dict[str, str]:
    return {
        "GIT_DIR": str(place.folder),
        "GIT_WORK_TREE": str(place.top),
        "GIT_COMMON_DIR": str(common),
    }


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
