"""Run git commands, and ask git about files."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.path_kinds import lexists
from code_commit_workspace.files.programs import require_program, trusted_path
from code_commit_workspace.git.config_file import Entry, parse_config
from code_commit_workspace.git.control_files import ControlFiles
from code_commit_workspace.git.layout import (
    SMALL,
    GitError,
    NoRepository,
    Place,
    find_repositories,
    read_git_file,
)
from code_commit_workspace.git.process import (
    command_of,
    failure,
    index_of_command,
    run_git,
    stderr_of,
)
from code_commit_workspace.git.reading import may_write_files, reads, require_reading
from code_commit_workspace.git.repository import Layout, Repository, open_repository

# The caller's variables that git gets: where it finds programs and the user's configuration, how
# far it searches for a repository, and who commits.
_PASSED_ON = (
    *("PATH", "HOME", "XDG_CONFIG_HOME", "USER", "LOGNAME", "SUDO_UID", "TMPDIR"),
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"),
    *("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL"),
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
    *("-c", "diff.ignoreSubmodules=all"),
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
    *("-c", "safe.bareRepository=explicit"),  # ignore files that look like a repository
)
_NO_HOOKS = ("-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false")
_LIBRARIES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_LOOK_INTO_SUBMODULES = {"diff", "diff-files", "diff-index", "status"}
NO_REPOSITORY = {"GIT_DIR": os.devnull, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
"""For a command that needs no repository, as `env`."""
CHECK_IGNORE = ("check-ignore", "--no-index", "-z", "--stdin")
# In gitformat-index: the mode of a submodule, and the extension of an index whose other entries are
# in a second file.
_WITH_SUBMODULES = (b"\0\0\xe0\0", b"link\0")
_BRANCH = re.compile(rb"ref: (refs/heads/[^\0]+)\n")
_ID = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?\n")
_UNREACHABLE = re.compile(r"warning: unable to access '/.*(?<!/info/exclude)': .*")


class Git:
    """Runs git in the folder `root`, which may be below the top of its repository.

    With `repository`, git uses that folder instead of searching for one, and `root` is the top of
    its work tree. Programs in the root and in the folders `writable` are not used, because a build
    could have put them there.
    """

    def __init__(
        self,
        root: Path,
        *,
        repository: Path | None = None,
        writable: Sequence[Path] = (),
    ) -> None:
        self.root = root
        self.writable = writable
        self._place: Place | None = None
        if repository:
            self._place = Place(root, repository, repository, is_ours=True)
        self._program: str | None = None
        self._repository: Repository | None = None

    def with_those_around(self) -> Iterator[Git]:
        """Yield a `Git` for the repository of the root, then one for each repository around it.

        Raises:
            GitError: one of them is unusable.
        """
        for place in find_repositories(self.root, self._environ()):
            git = Git(self.root, writable=self.writable)
            git._place = place
            yield git

    def init(self) -> None:
        """Create a repository for the root, without hooks.

        Raises:
            GitError: it cannot be created.
        """
        folder = self.root / ".git"
        if self._place:
            folder = self._place.folder
        env = NO_REPOSITORY | {"GIT_DIR": str(folder)}
        self.run(["init", "--quiet", "--template="], env=env)

    def commit_all(self, message: str, *, author: str) -> None:
        """Commit all files of a repository that we created, without the user's filters.

        So the commit has each file byte for byte.

        Raises:
            GitError: the commit failed.
        """
        env = {"GIT_CONFIG_COUNT": "0"}
        for role in ("AUTHOR", "COMMITTER"):
            env[f"GIT_{role}_NAME"] = author
            env[f"GIT_{role}_EMAIL"] = "code-commit@example.org"
        self.run(["add", "--all"], env=env)
        commit = ["commit", "--quiet", "--allow-empty", "--no-gpg-sign", "--message", message]
        self.run(commit, env=env)

    def run(
        self,
        args: Sequence[str],
        *,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        check: bool = True,
        passing: int = 0,
        hooks: bool = False,
        timeout: float = 600,
        reads_only: bool = False,
        most: int | None = None,
        strict: bool = False,
    ) -> bytes:
        """Run `git *args` and return its standard output.

        If it is longer than `most` bytes, return at least one more.

        `env` is added to git's environment, `timeout` is in seconds. Unless `check`, the exit code
        is ignored; exit codes up to `passing` are no failure, but with `strict`, warnings are one.
        With `hooks`, the repository's hooks run, and commits are signed if configured. With
        `reads_only`, only commands that change nothing are allowed. Those run no filters; others
        run the filters in the user's own configuration.

        Raises:
            GitError: the command failed or timed out.
            NotReady: git is not installed, the command may write although `reads_only` is set, or
                the hooks are in the project itself.
        """
        if reads_only:
            require_reading(args)
        completed = self._complete(
            args,
            stdin=stdin,
            env=env,
            hooks=hooks,
            timeout=timeout,
            most=most,
        )
        was_cut = most is not None and len(completed.stdout) > most
        has_passed = 0 <= completed.returncode <= passing
        has_warned = strict and bool(completed.stderr)
        if check and not was_cut and (has_warned or not has_passed):
            raise failure(args, completed)
        return completed.stdout

    @staticmethod
    def may_write_files(args: Sequence[str]) -> bool:
        """Return whether `git *args` may change files of the work tree, judging by its command."""
        return may_write_files(args)

    def require_repository(self) -> None:
        """Check that the root is in the work tree of a git repository.

        Raises:
            NoRepository: it is not.
            NotReady: git does not work there.
        """
        try:
            self._opened()
        except GitError as error:
            raise NotReady(
                f"git does not work in {self.root}: {error}",
                hint=error.hint or "run `git status` there to see why",
            ) from None

    def top(self) -> Path:
        """Return the top of the work tree, which may be above the root.

        Raises:
            NotReady: the root is not in a work tree.
        """
        self.require_repository()
        return self.layout().top

    def layout(self) -> Layout:
        """Return where the work tree and git's folders are. The first result is cached.

        Raises:
            GitError: the root is not in a work tree.
        """
        try:
            return self._opened().layout
        except NoRepository as error:
            raise GitError(f"not a git repository: {self.root}", hint=error.hint) from None

    def _opened(self) -> Repository:
        if self._repository is None:
            environ = self._environ()
            place = self._place or next(find_repositories(self.root, environ), None)
            if place is None:
                raise NoRepository(
                    f"{self.root} is not in a git repository", hint="run `git init` there"
                )
            self._repository = open_repository(place, self.root, self._git_program(), environ)
        return self._repository

    def head(self) -> str | None:
        """Return the id of the current commit, or None before the first commit.

        Raises:
            GitError: there is no repository, or git cannot read it.
        """
        folders = self.layout().folders
        with suppress(OSError):  # a file has it, unless git packed the branch
            branch = _BRANCH.fullmatch(read_git_file(folders[0] / "HEAD"))
            if branch:
                commit = read_git_file(folders[-1] / os.fsdecode(branch[1]))
                if _ID.fullmatch(commit):
                    return commit.decode().strip()
        args = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]
        completed = self._complete(args)
        if completed.returncode not in {0, 1}:
            raise failure(args, completed)
        return completed.stdout.decode().strip() or None

    def list_files(self) -> AbstractSet[str]:
        """Return the paths below the root that git tracks or does not ignore.

        They are in git's order: nearly sorted.

        Raises:
            NotReady: the root is not in a git repository, or git cannot list its files.
        """
        try:
            listing = self.run(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        except GitError:
            self.require_repository()
            raise
        return dict.fromkeys(_rows(listing)).keys()

    def list_tracked(self) -> AbstractSet[str]:
        """Return the paths below the root that git tracks.

        Raises:
            NotReady: as `list_files`.
        """
        return self._list("--cached")

    def list_untracked(self) -> AbstractSet[str]:
        """Return the paths below the root that git neither tracks nor ignores.

        Raises:
            NotReady: as `list_files`.
        """
        return self._list("--others", "--exclude-standard")

    def _list(self, *options: str) -> AbstractSet[str]:
        try:
            return frozenset(_rows(self.run(["ls-files", "-z", *options])))
        except GitError:
            self.require_repository()
            raise

    def list_new_files(self) -> AbstractSet[str]:
        """Return the paths below the root whose content git does not have, but for ignored ones.

        Raises:
            GitError: git cannot list them.
        """
        listing = self.run(["ls-files", "-z", "--modified", "--others", "--exclude-standard"])
        return frozenset(_rows(listing))

    def submodules(self) -> frozenset[str]:
        """Return the paths of submodules in the index below the root, checked out or not.

        Raises:
            GitError: there is no repository, or git cannot read it.
        """
        index = self.layout().index
        if not lexists(index):
            return frozenset()
        with suppress(OSError):
            content = read_git_file(index, limit=-1)
            may_have_submodules = any(mark in content for mark in _WITH_SUBMODULES)
            if content.startswith(b"DIRC") and not may_have_submodules:
                return frozenset()
        rows = _rows(self.run(["ls-files", "--stage", "-z"]))
        submodules = [row for row in rows if row.startswith("160000 ")]
        return frozenset(row.partition("\t")[2] for row in submodules)

    def left_out(self) -> frozenset[str]:
        """Return the tracked paths below the root that a sparse checkout leaves out.

        Raises:
            GitError: there is no repository, or git cannot read it.
        """
        if not self.layout().sparse:
            return frozenset()
        rows = _rows(self.run(["ls-files", "-t", "-z"]))
        return frozenset(row[2:] for row in rows if row.startswith("S "))

    def ignored(self, paths: Sequence[str]) -> frozenset[str]:
        """Return the `paths` that git ignores, tracked or not.

        Paths are relative to the root and need not exist.

        Raises:
            GitError: git could not check one of the paths, or could not read an ignore file.
        """
        completed = self._complete(CHECK_IGNORE, stdin=listing(paths))
        if completed.returncode not in {0, 1} or _has_warnings(completed):
            raise failure(CHECK_IGNORE, completed)
        ignored = completed.stdout.split(b"\0")[:-1]
        return frozenset(os.fsdecode(path.removeprefix(b"./")) for path in ignored)

    def _complete(
        self,
        args: Sequence[str],
        *,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        hooks: bool = False,
        timeout: float = 600,
        most: int | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        environ = self._environ()
        options = list(_OPTIONS)
        if not hooks:
            options += _NO_HOOKS
        if env is None or "GIT_DIR" not in env:
            try:
                repository = self._opened()
            except NoRepository:
                text = b"fatal: not a git repository (or any of the parent directories): .git\n"
                return subprocess.CompletedProcess(args, 128, b"", text)
            environ |= repository.environ
            files: ControlFiles | None = repository.control_files
            args = _without_submodules(args)
            if hooks:
                options += ["-c", f"core.hooksPath={repository.hooks(self.root)}"]
            if not reads(command_of(args)):
                repository.prepare_commit()
                settings = self._ignored_submodules(command_of(args))
                environ |= repository.settings_for(settings)
        else:
            files = self._control_files(env)
        command = [self._git_program(), *options, *args]
        environ |= dict(env or {})
        return run_git(
            command,
            self.root,
            environ,
            stdin=stdin,
            timeout=timeout,
            most=most,
            files=files,
        )

    def _control_files(self, environ: Mapping[str, str]) -> ControlFiles | None:
        """Return what git reads in the repository that `environ` names, if there is one."""
        if environ["GIT_DIR"] == os.devnull:
            return None
        top = Path(environ.get("GIT_WORK_TREE", self.root))
        folder = Path(environ["GIT_DIR"])
        return ControlFiles(top, (folder,))

    def _ignored_submodules(self, command: str) -> list[Entry]:
        """Return settings for a commit that keep git out of submodules; no option does.

        Raises:
            GitError: a `.gitmodules` is too large to read.
        """
        if command != "commit":
            return []
        versions: list[bytes] = []
        for revision in ("", "HEAD"):
            show = ["show", f"{revision}:.gitmodules", "--"]
            versions.append(self._complete(show, most=SMALL).stdout)
        file = self.layout().top / ".gitmodules"
        with suppress(OSError):
            versions.append(read_git_file(file, limit=SMALL + 1))
        if any(len(version) > SMALL for version in versions):
            raise GitError(
                f".gitmodules is larger than {SMALL >> 20} MiB, which git would read for a commit"
            )
        settings: dict[str, str] = {}
        for version in versions:
            for name, _ in parse_config(os.fsdecode(version), ".gitmodules"):
                if name.startswith("submodule."):
                    module = name.rpartition(".")[0]
                    settings[f"{module}.ignore"] = "all"
        return list(settings.items())

    def _environ(self) -> dict[str, str]:
        environ = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        environ |= _SET
        # git finds git-lfs and gpg on PATH, but must not find them in the project.
        for name in ("PATH", *_LIBRARIES):
            if name in environ:
                environ[name] = trusted_path(self.root, environ[name], self.writable)
        return environ

    def _git_program(self) -> str:
        if self._program is None:
            self._program = require_program("git", self.root, self.writable)
        return self._program


def listing(paths: Sequence[str]) -> bytes:
    """Return `paths` as the input of `CHECK_IGNORE`.

    With `./` in front, none looks like an option or pathspec magic.

    Raises:
        GitError: a path cannot be encoded, or contains NUL.
    """
    try:
        names = os.fsencode("".join([f"./{path}\0" for path in paths]))
    except UnicodeEncodeError as error:
        raise GitError("git cannot check a path that cannot be encoded") from error
    if names.count(b"\0") != len(paths):
        raise GitError("git cannot check a path that contains NUL")
    return names


def _rows(listing: bytes) -> list[str]:
    """Return the rows of a listing that git printed with `-z`."""
    return os.fsdecode(listing).split("\0")[:-1]


def _without_submodules(args: Sequence[str]) -> Sequence[str]:
    """Return `args` with an option that keeps git out of submodules.

    Else git would start another git there, with the submodule's configuration.
    """
    if command_of(args) not in _LOOK_INTO_SUBMODULES:
        return args
    place = index_of_command(args) + 1
    return [*args[:place], "--ignore-submodules=all", *args[place:]]


def _has_warnings(completed: subprocess.CompletedProcess[bytes]) -> bool:
    """Return whether git printed a warning that counts.

    It may warn about a user's own file that this account cannot read.
    """
    lines = stderr_of(completed).splitlines()
    return not all(_UNREACHABLE.fullmatch(line) for line in lines)
