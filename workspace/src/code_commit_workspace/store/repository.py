"""A private git repository that stores the exact bytes of files.

Attributes such as filters and `-diff`, line ending conversion and the user's configuration do not
apply. The user's objects are its alternates, so committed content takes no space here. It writes
only into its own folder.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.folder_size import folder_size
from code_commit_workspace.files.path_kinds import exists, is_file, is_folder, is_link
from code_commit_workspace.files.project_tree import open_regular
from code_commit_workspace.git import Git, GitError
from code_commit_workspace.move.home import CHECKPOINTS, open_folder, open_home
from code_commit_workspace.store.git_objects import blob_id, write_commit, write_ref

REFS = "refs/runs/"  # run, `/`, label
UNDONE = "refs/undone/"  # run, `/`, time: the states before files were put back
_ATTRIBUTES = "* -text !diff !eol !crlf !filter -ident !working-tree-encoding\n"
_CONFIG = """\
[core]
	repositoryformatversion = {version}
	bare = true
	filemode = true
	symlinks = true
	ignorecase = false
	precomposeunicode = false
	protecthfs = false
	protectntfs = false
	autocrlf = false
	safecrlf = false
	trustctime = true
	checkstat = default
	untrackedcache = false
	splitindex = false
	logallrefupdates = false
	attributesfile = /dev/null
	excludesfile = /dev/null
	compression = 1
	fsync = committed,reference
	fsyncmethod = batch
[gc]
	auto = 0
"""
_HEAD = "ref: refs/heads/none\n"  # git does not recognize a repository without HEAD
_SHA256 = "[extensions]\n\tobjectformat = sha256\n"


class PrivateRepository:
    """A repository, created on first use.

    It is reset at each start, because a hostile build may have edited it.
    """

    def __init__(self, git: Git, home: Path) -> None:
        self._git = git
        self._home = home
        self._ready = False
        self._has_clock = False
        self._object_format = ""
        self.path = home / CHECKPOINTS

    def run(
        self,
        args: Sequence[str],
        *,
        stdin: bytes = b"",
        most: int | None = None,
        index: str = "index",
        strict: bool = False,
    ) -> bytes:
        """Run git on this repository, with the project as its work tree.

        `most`, `strict`: see `Git.run`.

        `index` is the name of git's index.

        Raises:
            NotReady: git fails, or the repository cannot be made.
        """
        self._prepare()
        return self._git.run(
            args,
            stdin=stdin,
            most=most,
            strict=strict,
            env={
                "GIT_DIR": str(self.path),
                "GIT_WORK_TREE": str(self._git.root),
                "GIT_INDEX_FILE": str(self.path / index),
                "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_CONFIG_GLOBAL": os.devnull,
            },
        )

    def blob_of(self, content: bytes) -> str:
        """Return the id of a file's object."""
        self._prepare()
        return blob_id(self._object_format, content)

    def commit(self, tree: str, message: str) -> str:
        """Make a commit of `tree` and return its id.

        Raises:
            NotReady: it cannot be written.
        """
        self._prepare()
        try:
            return write_commit(self.path, self._object_format, tree, message)
        except OSError as error:
            raise self._unusable(error) from error

    def set_ref(self, ref: str, commit: str) -> None:
        """Point `ref` at `commit`.

        Raises:
            NotReady: it cannot be written.
        """
        self._prepare()
        try:
            write_ref(self.path, ref, commit)
        except OSError as error:
            raise self._unusable(error) from error

    def has_below(self, ref: str) -> bool:
        """Return whether there may be refs below `ref`."""
        self._prepare()
        return exists(self.path / ref) or exists(self.path / "packed-refs")

    def names_below(self, ref: str) -> frozenset[str]:
        """Return the names directly below `ref`, which ends with a slash."""
        self._prepare()
        names: set[str] = set()
        with suppress(OSError):
            names.update(os.listdir(self.path / ref))  # noqa: PTH208 - names alone
        with suppress(OSError), open_regular(self.path / "packed-refs") as file:
            for line in os.fsdecode(file.read()).splitlines():
                _before, is_below, name = line.partition(f" {ref}")
                if is_below:
                    names.add(name.partition("/")[0])
        return frozenset(names)

    @property
    def indexed(self) -> int:
        """The number of files in the index; 0 if it is missing or cannot be read."""
        try:
            with open_regular(self.path / "index") as file:
                header = file.read(12)  # signature, version, number of entries
        except OSError:
            return 0
        return int.from_bytes(header[8:])

    @property
    def index_time(self) -> int:
        """When the index was written, in nanoseconds; 0 if that is unknown.

        The next snapshot reads the files that were changed since.
        """
        try:
            return (self.path / "index").stat().st_mtime_ns
        except OSError:
            return 0

    def forget_index(self) -> None:
        """Forget the files' times and sizes; the next snapshot reads all files."""
        (self.path / "index").unlink(missing_ok=True)

    def clock(self) -> int:
        """Return the file system's current time in nanoseconds."""
        self._prepare()
        path = self.path / "clock"
        if not self._has_clock:
            path.unlink(missing_ok=True)
            path.touch(exist_ok=False)
            self._has_clock = True
        handle = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            os.utime(handle)
            return os.fstat(handle).st_mtime_ns
        finally:
            os.close(handle)

    def size(self) -> int:
        """Return the bytes of all files of the repository, which may not exist."""
        return folder_size(self.path)

    @property
    def has_packs(self) -> bool:
        """Whether some objects are in packs."""
        folder = self.path / "objects" / "pack"
        return is_folder(folder) and any(folder.iterdir())

    def _prepare(self) -> None:
        if self._ready:
            return
        try:
            self._reset()
        except OSError as error:
            raise self._unusable(error) from error
        self._ready = True

    def _unusable(self, error: OSError) -> NotReady:
        return NotReady(
            f"the checkpoints in {self.path} cannot be used: {error}",
            hint="fix the cause, or delete that folder if you need no `undo` of earlier runs",
        )

    def _reset(self) -> None:
        home = open_home(self._home)
        try:
            os.close(open_folder(home, CHECKPOINTS))
        finally:
            os.close(home)
        alternates, self._object_format = self._user_objects()
        if self._object_format == "sha256":
            config = _CONFIG.format(version=1) + _SHA256
        else:
            config = _CONFIG.format(version=0)
        for name in ("info", "objects", "refs", "objects/info"):
            folder = self.path / name
            if is_link(folder):
                raise NotReady(f"{folder} is a link", hint=f"delete {self.path}")
            folder.mkdir(mode=0o700, exist_ok=True)
        _write(self.path / "HEAD", _HEAD)
        _write(self.path / "config", config)
        _write(self.path / "info" / "attributes", _ATTRIBUTES)
        _write(self.path / "objects" / "info" / "alternates", alternates)
        # Remove redirections of git, and locks of a killed run: this run holds the project's lock.
        locks = ("index.lock", "scratch-index.lock", "packed-refs.lock", "config.lock")
        for name in ("commondir", "config.worktree", *locks):
            with suppress(FileNotFoundError):
                (self.path / name).unlink()

    def _user_objects(self) -> tuple[str, str]:
        """Return the line for `objects/info/alternates`, and the format of the user's objects."""
        try:
            layout = self._git.layout()
        except GitError:
            return "", "sha1"  # no repository: all objects are stored here
        # Relative, so that the project can be moved; quoted, so that any name fits on one line.
        folder = (self.path / "objects").resolve()
        relative = os.path.relpath(layout.objects.resolve(), folder)
        quoted = "".join(f"\\{byte:03o}" for byte in os.fsencode(relative))
        return f'"{quoted}"\n', layout.object_format


def _write(path: Path, text: str) -> None:
    """Write `text` to a plain file at `path`, unless it is already there."""
    content = text.encode()
    if not is_link(path) and is_file(path) and path.read_bytes() == content:
        return
    path.unlink(missing_ok=True)
    path.write_bytes(content)
