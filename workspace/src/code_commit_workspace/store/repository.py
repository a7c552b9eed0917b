"""The private git repository of the store, which has the exact bytes of files.

Attributes such as filters and `-diff`, line ending conversion and the user's configuration do not
apply, but for the rules about ignored files. The user's objects are its alternates, so committed
content takes no space here. It writes only into its own folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.folder_size import folder_size
from code_commit_workspace.files.path_kinds import is_file, is_link, lexists
from code_commit_workspace.git import Git, GitError
from code_commit_workspace.git.config import config_text
from code_commit_workspace.git.layout import read_git_file
from code_commit_workspace.move.home import STORE, open_folder, open_home
from code_commit_workspace.store.objects import Objects

LITERAL_PATHS = {"GIT_LITERAL_PATHSPECS": "1"}  # `:(top)x` is a name, as `env` of git
_ATTRIBUTES = "* -text !diff !eol !crlf !filter -ident !working-tree-encoding\n"
_CONFIG = """\
[core]
	repositoryformatversion = {version}
	bare = false
	filemode = true
	symlinks = true
	ignorecase = {ignore_case}
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
	compression = 1
	bigfilethreshold = 1024g
	fsync = committed
	fsyncmethod = batch
[gc]
	auto = 0
"""
_HEAD = "ref: refs/heads/none\n"  # git does not recognize a repository without HEAD
_LIST_NEEDED = ("rev-list", "--objects", "--no-object-names", "--missing=print")
_SHA256 = "[extensions]\n\tobjectformat = sha256\n"


class PrivateRepository:
    """A repository, created on first use.

    It is reset at each start, because a hostile build may have edited it.
    """

    def __init__(self, git: Git, home: Path) -> None:
        self._git = git
        self._home = home
        self._ready = False
        self._object_format = ""
        self._top = git.root
        self.path = home / STORE

    def run(
        self,
        args: Sequence[str],
        *,
        stdin: bytes = b"",
        most: int | None = None,
    ) -> bytes:
        """Run git on this repository, with the work tree of the project; `most`: see `Git.run`.

        Raises:
            NotReady: git fails, or the repository cannot be made.
        """
        self.prepare()
        env = {
            "GIT_DIR": str(self.path),
            "GIT_WORK_TREE": str(self._top),
            "GIT_INDEX_FILE": str(self.path / "index"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            **LITERAL_PATHS,
        }
        try:
            return self._git.run(args, stdin=stdin, most=most, env=env)
        except GitError:
            if all(lexists(self.path / name) for name in ("HEAD", "objects")):
                raise
            raise NotReady(
                f"the store {self.path} was deleted while it was in use",
                hint="run the build in the sandbox, where it cannot delete it",
            ) from None

    @cached_property
    def objects(self) -> Objects:
        """The objects, to write some without git.

        Raises:
            NotReady: the repository cannot be made.
        """
        self.prepare()
        return Objects(self.path / "objects", self._object_format)

    @property
    def prefix(self) -> str:
        """The path of the project below the top of the work tree, with a slash, or ""."""
        self.prepare()
        below = os.path.relpath(os.path.realpath(self._git.root), self._top)
        return "" if below == os.curdir else f"{below}/"

    def forget_index(self) -> None:
        """Forget the files' times and sizes; the next look reads all files."""
        (self.path / "index").unlink(missing_ok=True)

    def keep_only(self, ids: Iterable[str]) -> None:
        """Delete the objects that none of `ids` needs.

        Of a tree, the user's git may have deleted some objects; the others are kept.

        Raises:
            NotReady: git fails.
        """
        self.forget_index()  # it may have the content of a file that was deleted since
        names = "".join(f"{name}\n" for name in sorted(set(ids)))
        rows = self.run(["cat-file", "--batch-check"], stdin=names.encode()).splitlines()
        present = b"".join(row.split()[0] + b"\n" for row in rows if not row.endswith(b"missing"))
        needed = self.run([*_LIST_NEEDED, "--stdin"], stdin=present)
        try:
            self.objects.keep_only(frozenset(needed.decode().split()))
        except OSError as error:
            raise self.unusable(error) from error

    def size(self) -> int:
        """Return the bytes of all files of the repository, which may not exist."""
        return folder_size(self.path)

    def prepare(self) -> None:
        """Make the repository, or set it right, once.

        Raises:
            NotReady: it cannot be made.
        """
        if self._ready:
            return
        try:
            self._reset()
        except OSError as error:
            raise self.unusable(error) from error
        self._ready = True

    def unusable(self, error: OSError) -> NotReady:
        """Return the error for a repository that cannot be read or written."""
        return NotReady(
            f"the store {self.path} cannot be used: {error.strerror or error}",
            hint="fix the cause, or delete that folder if you need no `undo` of earlier runs",
        )

    def _reset(self) -> None:
        home = open_home(self._home)
        try:
            os.close(open_folder(home, STORE))
        finally:
            os.close(home)
        config, alternates, excludes = self._of_user()
        for name in ("info", "objects", "refs", "objects/info"):
            folder = self.path / name
            if is_link(folder):
                raise NotReady(f"{folder} is a link", hint=f"delete {self.path}")
            folder.mkdir(mode=0o700, exist_ok=True)
        _write(self.path / "HEAD", _HEAD.encode())
        _write(self.path / "config", config.encode())
        _write(self.path / "info" / "attributes", _ATTRIBUTES.encode())
        _write(self.path / "info" / "exclude", excludes)
        _write(self.path / "objects" / "info" / "alternates", alternates.encode())
        # Remove redirections of git, and locks of a killed run: this run holds the project's lock.
        for name in ("commondir", "config.worktree", "index.lock", "packed-refs"):
            with suppress(FileNotFoundError):
                (self.path / name).unlink()

    def _of_user(self) -> tuple[str, str, bytes]:
        """Return what counts of the user's repository.

        These are the configuration, the line for `objects/info/alternates`, and `info/exclude`.
        """
        try:
            layout = self._git.layout()
        except GitError:  # no repository: all objects are stored here
            self._object_format = "sha1"
            return _CONFIG.format(version=0, ignore_case="false"), "", b""
        self._object_format = layout.object_format
        self._top = layout.top
        is_sha256 = layout.object_format == "sha256"
        config = _CONFIG.format(
            version=1 if is_sha256 else 0, ignore_case=str(layout.ignores_case).lower()
        )
        if is_sha256:
            config += _SHA256
        if layout.excludes_file:
            config += config_text([("core.excludesfile", layout.excludes_file)])
        # Relative, so that the project can be moved; quoted, so that any name fits on one line.
        folder = (self.path / "objects").resolve()
        relative = os.path.relpath(layout.objects.resolve(), folder)
        quoted = "".join(f"\\{byte:03o}" for byte in os.fsencode(relative))
        excludes = b""
        with suppress(OSError):
            excludes = read_git_file(layout.folders[-1] / "info" / "exclude")
        return config, f'"{quoted}"\n', excludes


def _write(path: Path, content: bytes) -> None:
    """Write a plain file at `path`, unless it is already there."""
    if not is_link(path) and is_file(path) and path.read_bytes() == content:
        return
    path.unlink(missing_ok=True)
    path.write_bytes(content)
