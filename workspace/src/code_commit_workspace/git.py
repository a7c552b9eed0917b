"""The only place that runs git. It treats the repository as untrusted.

A repository's configuration can name programs to run: hooks, a file system monitor, pagers, password prompts,
transports. All of them are off, and git gets only the parts of the caller's environment that it needs, so that no key
reaches it.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.git_reading import require_reading
from code_commit_workspace.programs import find_program

# Where git finds programs and the user's configuration, and how far it searches for a repository.
_KEPT = (
    *("PATH", "HOME", "XDG_CONFIG_HOME", "USER", "LOGNAME", "SUDO_UID", "TMPDIR"),
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"),
    *("GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM"),
    *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DEVELOPER_DIR", "SDKROOT"),
)
_SET = {
    "LC_ALL": "C",
    "GIT_ALLOW_PROTOCOL": "none",  # allows no existing transport: nothing is ever fetched
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_EDITOR": "false",
    "GIT_FLUSH": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}
_OPTIONS = (
    "--no-pager",
    *("-c", "color.diff=false"),
    *("-c", "color.ui=false"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
    *("-c", "safe.bareRepository=explicit"),  # ignore files that look like a repository
)
_NO_HOOKS = (*("-c", "core.hooksPath=/dev/null"), *("-c", "commit.gpgSign=false"))
_LAYOUT = (
    *(("--show-toplevel",), ("--git-dir",), ("--git-common-dir",)),
    *(("--git-path", "index"), ("--git-path", "objects"), ("--show-object-format",)),
)
_GRACE_PERIOD = 5.0  # seconds for git to remove its lock files after SIGTERM
CHECK_IGNORE = ("check-ignore", "--no-index", "-z", "--stdin")
_UNREACHABLE = re.compile(r"warning: unable to access '/.*(?<!/info/exclude)': .*")


class GitError(NotReady):
    """A git command failed; the message is git's."""


class NoRepository(NotReady):
    """The root is not in a git repository."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The top of a work tree and its git folders: its own, and the one that linked work trees share.

    `object_format` is the hash of object ids, `sha1` or `sha256`.
    """

    top: Path
    folders: tuple[Path, ...]
    index: Path
    objects: Path
    object_format: str


class Git:
    """Runs git in the folder `root`, which may be below the top of its repository.

    With `repository`, git uses that folder instead of searching for one, and `root` is the top of its work tree.
    """

    def __init__(self, root: Path, *, repository: Path | None = None) -> None:
        self.root = root
        self._places = {"GIT_DIR": str(repository), "GIT_WORK_TREE": str(root)} if repository else {}
        self._program: str | None = None
        self._layout: Layout | None = None
        self._submodules: tuple[tuple[int, ...], frozenset[str]] | None = None  # with the state of the index

    def run(
        self,
        args: Sequence[str],
        *,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        check: bool = True,
        hooks: bool = False,
        timeout: float = 600,
        reads_only: bool = False,
    ) -> bytes:
        """Run `git *args` and return its standard output.

        `env` is added to git's environment, `timeout` is in seconds. With `check` False, the exit code is ignored. With
        `hooks`, the repository's hooks run, and commits are signed if configured. With `reads_only`, only commands that
        change nothing are allowed.

        Raises:
            GitError: the command failed or timed out.
            NotReady: git is not installed, or the command may write in spite of `reads_only`.
        """
        if reads_only:
            require_reading(args)
        done = self._done(args, stdin=stdin, env=env, hooks=hooks, timeout=timeout)
        if check and done.returncode:
            raise _error(args, done)
        return done.stdout

    def require_repository(self) -> None:
        """Check that the root is in the work tree of a git repository.

        Raises:
            NoRepository: it is not.
            NotReady: git does not work there.
        """
        try:
            self.layout()
        except GitError:
            done = self._done(["rev-parse", "--is-inside-work-tree"])
            if done.stdout.strip() == b"true":
                raise
            message = _stderr_of(done)
            if done.returncode and "not a git repository" not in message:
                raise NotReady(
                    f"git will not work in {self.root}: {message}", hint="see what `git status` says there"
                ) from None
            raise NoRepository(f"{self.root} is in no git repository", hint="run `git init` there") from None

    def top(self) -> Path:
        """Return the top of the work tree, which may be above the root.

        Raises:
            NotReady: the root is not in a work tree.
        """
        self.require_repository()
        return self.layout().top

    def layout(self) -> Layout:
        """Return where the work tree and git's folders are. The first answer is kept.

        Raises:
            GitError: the root is not in a work tree.
        """
        if self._layout is None:
            found = self._rev_parse([option for fact in _LAYOUT for option in fact]).split("\n")
            if len(found) != len(_LAYOUT):  # the name of a folder holds a newline
                found = [self._rev_parse(fact) for fact in _LAYOUT]
            top, own, shared, index, objects = map(Path, found[:-1])
            self._layout = Layout(top, tuple(dict.fromkeys([own, shared])), index, objects, found[-1])
        return self._layout

    def _rev_parse(self, facts: Sequence[str]) -> str:
        return os.fsdecode(self.run(["rev-parse", "--path-format=absolute", *facts]).removesuffix(b"\n"))

    def head(self) -> str | None:
        """Return the id of the checked-out commit, or None before the first commit.

        Raises:
            GitError: there is no repository, or git cannot read it.
        """
        args = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]
        done = self._done(args)
        if done.returncode not in {0, 1}:
            raise _error(args, done)
        return done.stdout.decode().strip() or None

    def list_files(self) -> set[str]:
        """Return the paths that git tracks or does not ignore, below the root.

        Raises:
            NotReady: the root is not in a git repository, or git cannot list its files.
        """
        try:
            state, listing = self._listing("--cached", "--others", "--exclude-standard")
        except GitError:
            self.require_repository()
            raise
        self._submodules = state, _submodules_in(listing)
        return {entry[2:] if entry[0] == "?" else entry.partition("\t")[2] for entry in listing}

    def submodules(self) -> frozenset[str]:
        """Return the paths of submodules in the index below the root, checked out or not.

        Raises:
            GitError: there is no repository, or git cannot read it.
        """
        if self._submodules is None or self._submodules[0] != _state(self.layout().index):
            state, listing = self._listing("--cached")
            self._submodules = state, _submodules_in(listing)
        return self._submodules[1]

    def _listing(self, *which: str) -> tuple[tuple[int, ...], list[str]]:
        """Return the state of the index, and a line per path: `H 100644 id 0`, a tab and the path; or `? path`."""
        state = _state(self.layout().index)
        listing = self.run(["ls-files", "-t", "--stage", "-z", *which])
        return state, os.fsdecode(listing).split("\0")[:-1]

    def ignored(self, paths: Sequence[str]) -> frozenset[str]:
        """Return the `paths` that git ignores, tracked or not.

        Paths are relative to the root and need not exist.

        Raises:
            GitError: git could not check one of them, or could not read a file with rules. No result is returned then.
        """
        done = self._done(CHECK_IGNORE, stdin=listing(paths))
        if done.returncode not in {0, 1} or _has_warnings(done):
            raise _error(CHECK_IGNORE, done)
        return frozenset(os.fsdecode(path.removeprefix(b"./")) for path in done.stdout.split(b"\0")[:-1])

    def _done(
        self,
        args: Sequence[str],
        *,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        hooks: bool = False,
        timeout: float = 600,
    ) -> subprocess.CompletedProcess[bytes]:
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ} | _SET
        environment |= self._places | dict(env or {})
        command = [self._found(), *_OPTIONS, *(() if hooks else _NO_HOOKS), *args]
        try:
            process = subprocess.Popen(
                command,
                cwd=self.root,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # no terminal for prompts; Ctrl-C ends us, not git halfway
            )
        except OSError as error:
            raise GitError(f"git could not be run in {self.root}: {error.strerror}") from error
        with process:
            try:
                stdout, stderr = process.communicate(stdin, timeout)
            except subprocess.TimeoutExpired:
                _end(process)
                raise GitError(f"`git {args[0]}` did not end within {timeout:g} seconds in {self.root}") from None
            except BaseException:
                _end(process)
                raise
        return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)

    def _found(self) -> str:
        if self._program is None:
            self._program = find_program("git", self.root)
        if self._program is None:
            raise NotReady("git was not found on PATH", hint="install git, outside of the project")
        return self._program


def listing(paths: Sequence[str]) -> bytes:
    """Return `paths` as the input of `CHECK_IGNORE`. With `./` in front, none looks like an option or pathspec magic.

    Raises:
        GitError: git cannot be asked about one of them.
    """
    try:
        names = b"".join(b"./%b\0" % os.fsencode(path) for path in paths)
    except UnicodeEncodeError as error:
        raise GitError("git cannot be asked about a path that cannot be encoded") from error
    if names.count(b"\0") != len(paths):
        raise GitError("git cannot be asked about a path that holds NUL")
    return names


def _submodules_in(listing: Sequence[str]) -> frozenset[str]:
    return frozenset(entry.partition("\t")[2] for entry in listing if entry.startswith("160000 ", 2))


def _state(index: Path) -> tuple[int, ...]:
    """Return values that change with the index, which git always replaces by a new file; empty without an index."""
    try:
        status = index.stat()
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _end(process: subprocess.Popen[bytes]) -> None:
    """End git and what it started. On SIGTERM it removes its lock files first."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_PERIOD)


def _error(args: Sequence[str], done: subprocess.CompletedProcess[bytes]) -> GitError:
    words = (
        arg
        for before, arg in zip(("", *args), args, strict=False)
        if before not in {"-c", "-C"} and not arg.startswith("-")
    )
    return GitError(f"`git {next(words, '')}` failed: {_stderr_of(done) or f'exit code {done.returncode}'}")


def _stderr_of(done: subprocess.CompletedProcess[bytes]) -> str:
    return _decode(done.stderr).strip().removeprefix("fatal: ")


def _decode(data: bytes) -> str:
    return data.decode(errors="backslashreplace")


def _has_warnings(done: subprocess.CompletedProcess[bytes]) -> bool:
    """Return whether git warned about anything except a user's own file that this account cannot read."""
    return not all(_UNREACHABLE.fullmatch(line) for line in _stderr_of(done).splitlines())
