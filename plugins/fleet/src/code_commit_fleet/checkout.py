"""The files of the units on a worker: a bare mirror per repository, and a worktree per unit."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import tempfile
import threading
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from code_commit.plugin_api import NotReady
from code_commit_workspace import Git, GitError, remove_tree

PREFIX = "code-commit-fleet-"
_TRANSPORTS = "file:git:http:https:ssh"
_SHA256 = 64  # digits of a commit
# Variables of a user who has set up git on this machine.
_PASSED = (
    "SSH_AUTH_SOCK",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
)
_FROM_STDIN = ("--pathspec-from-file=-", "--pathspec-file-nul")  # there may be any number
# A silent service ends a fetch after a minute.
_TRANSFER = (
    "-c",
    "http.lowSpeedLimit=1",
    "-c",
    "http.lowSpeedTime=60",
    "-c",
    "transfer.credentialsInUrl=die",
)


class WorkerFolder:
    """The private folder of one worker process, removed at its end."""

    def __init__(self) -> None:
        _remove_abandoned()
        self.path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getuid()}-"))
        self._lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._mirrors: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._guard = threading.Lock()

    def close(self) -> None:
        """Remove the folder."""
        with contextlib.suppress(OSError):
            remove_tree(self.path)
        with contextlib.suppress(OSError):
            os.close(self._lock)

    def checkout(self, url: str, ref: str, commit: str, name: str, *, timeout: float) -> Path:
        """Return a new worktree of a repository, below the folder `name`.

        Raises:
            NotReady: it cannot be cloned, or has no such commit.
        """
        mirror = self.path / "mirrors" / f"{_digest(url)}.git"
        source = commit or ref or "HEAD"
        reference = f"refs/fleet/{_digest(source)}"
        project = self.path / "units" / name / "project"
        try:
            with self._guard:
                lock = self._mirrors[url]
            with lock:
                git = Git(mirror)
                env = _environment(mirror)
                if not commit or not _has(git, env, reference):
                    refspec = f"+{source}:{reference}"
                    is_sha256 = len(commit) == _SHA256
                    _fetch(mirror, url, refspec, sha256=is_sha256, timeout=timeout)
                project.parent.mkdir(parents=True, mode=0o700)
                git.run(["worktree", "prune"], env=env)
                add = ["worktree", "add", "--quiet", "--detach", "--", str(project), reference]
                git.run(add, env=env, timeout=timeout)
        except GitError as error:
            raise NotReady(f"{url} cannot be cloned: {error.message}") from None
        except OSError as error:
            raise NotReady(f"{url} cannot be cloned: {error.strerror}") from None
        return project

    def remove(self, name: str) -> None:
        """Remove the worktree of a unit."""
        with contextlib.suppress(OSError):
            remove_tree(self.path / "units" / name)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _has(git: Git, env: Mapping[str, str], reference: str) -> bool:
    if not (git.root / "HEAD").exists():
        return False
    arguments = ["rev-parse", "--verify", "--quiet", reference]
    return bool(git.run(arguments, env=env, check=False))


def _fetch(mirror: Path, url: str, refspec: str, *, sha256: bool, timeout: float) -> None:
    """Fetch one commit into a mirror.

    The hash of a repository's objects is unknown until its service answers.

    Raises:
        GitError: git cannot reach it, or it has no such commit.
    """
    mirror.mkdir(parents=True, exist_ok=True)
    git = Git(mirror)
    env = _environment(mirror)
    if not (mirror / "HEAD").exists():
        form = "sha256" if sha256 else "sha1"
        git.run(["init", "--quiet", "--bare", "--template=", f"--object-format={form}"], env=env)
    # A repository that is itself a shallow clone lacks the parents of some commits: accept these.
    options = [
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        "--no-recurse-submodules",
        "--update-shallow",
    ]
    try:
        git.run([*_TRANSFER, "fetch", *options, "--", url, refspec], env=env, timeout=timeout)
    except GitError as error:
        if sha256 or "mismatched algorithms" not in error.message:
            raise
        remove_tree(mirror)
        _fetch(mirror, url, refspec, sha256=True, timeout=timeout)


def patch_of(project: Path, files: list[str]) -> bytes:
    """Stage the files that a unit changed, and return them as a patch for `git apply`.

    Raises:
        GitError: git refuses.
    """
    git = Git(project)
    if files:
        listing = b"".join(os.fsencode(path) + b"\0" for path in files)
        git.run(["--literal-pathspecs", "add", "--all", *_FROM_STDIN], stdin=listing)
    return git.run(["diff", "--cached", "--binary", "HEAD", "--"])


def push(project: Path, url: str, branch: str, message: str, *, timeout: float) -> None:
    """Commit the files that `patch_of` staged, and push them as a new branch.

    Raises:
        GitError: git refuses, or the branch exists with another history.
    """
    git = Git(project)
    git.run(["commit", "--quiet", "--no-verify", "--message", message])
    git_folder = os.fsdecode(git.run(["rev-parse", "--absolute-git-dir"]).strip())
    git.run(
        [*_TRANSFER, "push", "--quiet", "--", url, f"HEAD:refs/heads/{branch}"],
        env=_environment(Path(git_folder)),
        timeout=timeout,
    )


def _environment(folder: Path) -> dict[str, str]:
    own = {name: os.environ[name] for name in _PASSED if name in os.environ}
    ssh = "ssh -oBatchMode=yes -oConnectTimeout=30 -oServerAliveInterval=30"
    return {
        **own,
        "GIT_SSH_COMMAND": ssh,
        "GIT_DIR": str(folder),
        "GIT_ALLOW_PROTOCOL": _TRANSPORTS,
        "GIT_ASKPASS": "false",
    }


def _remove_abandoned() -> None:
    """Remove the folders of this user's killed workers."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}{os.getuid()}-*"):
        with contextlib.suppress(OSError):
            handle = os.open(folder / "lock", os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                if os.fstat(handle).st_uid == os.getuid():
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    remove_tree(folder)
            finally:
                os.close(handle)
