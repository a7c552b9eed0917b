"""Run the command `code-commit` as a separate process in a test project."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from code_commit.plugin_api import python_command
from code_commit_testing.warm_client import KILL
from code_commit_testing.warm_start import run_warm, warm_address, warm_command

_INHERITED = ("PATH", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT", "COVERAGE_PROCESS_START")

_repositories: dict[tuple[tuple[str, str], ...], dict[Path, tuple[int, bytes | None]]] = {}
"""What is in `.git` of a new project, by its files: mode and content; None for a folder."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The result of the command."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """Return the events of `--json`."""
        return [json.loads(line) for line in self.stdout.splitlines()]

    @property
    def document(self) -> Any:
        """Return the JSON document that a command such as `models` prints."""
        return json.loads(self.stdout)


@dataclass(frozen=True, slots=True)
class Project:
    """A git repository in which to run the command. `home` is an empty home folder."""

    root: Path
    home: Path

    @classmethod
    def create(
        cls,
        folder: Path,
        *,
        files: Mapping[str, str] | None = None,
        build: str = "exit 0\n",
        query: str | None = "Change a.txt.\n",
        rollup: str | None = "files",
        gitignore: str = "/agent-config\n",
    ) -> Project:
        """Create a project below `folder`.

        `files` are committed; `query` and `rollup` are written to `agent-config`.

        The rollup "files" has all of `files`; None writes none.
        """
        root, home = folder / "project", folder / "home"
        home.mkdir(parents=True)
        project = cls(root, home)
        files = {"a.txt": "old\n"} if files is None else files
        if rollup == "files":
            rollup = (
                "".join(f"--- {path} ---\n{files[path]}" for path in sorted(files)) or "no files\n"
            )
        committed = {".gitignore": gitignore, "build.sh": build, **files}
        project.write(committed)
        project._commit_start(tuple(sorted(committed.items())))
        inputs = {"agent-config/query.txt": query, "agent-config/codeRollup.txt": rollup}
        project.write({path: text for path, text in inputs.items() if text is not None})
        return project

    def _commit_start(self, files: tuple[tuple[str, str], ...]) -> None:
        """Commit the files, or copy the repository of the project that had the same ones.

        This saves starts of git, which take long.
        """
        git = self.root / ".git"
        for path, (mode, content) in _repositories.get(files, {}).items():
            if content is None:
                (git / path).mkdir()
            else:
                (git / path).write_bytes(content)
                (git / path).chmod(mode)
        if git.exists():
            self._refresh_index(git / "index")
            return
        # Without the sample hooks, which cost a third of the time.
        self.git("init", "-q", "--template=")
        for part in ("hooks", "info"):
            (git / part).mkdir()
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "start")
        _repositories[files] = {
            path.relative_to(git): (
                path.stat().st_mode & 0o777,
                path.read_bytes() if path.is_file() else None,
            )
            for path in [git, *sorted(git.rglob("*"))]
        }

    def _refresh_index(self, index: Path) -> None:
        """Write times and inodes of the files to the index, as `git add` does.

        After an entry and its path there are zeros, up to a multiple of 8 bytes.
        """
        text = bytearray(index.read_bytes())
        at = 12
        for _ in range(int.from_bytes(text[8:at])):
            end = text.index(0, at + 62)
            seen = (self.root / text[at + 62 : end].decode()).lstat()
            times = *divmod(seen.st_ctime_ns, 10**9), *divmod(seen.st_mtime_ns, 10**9)
            struct.pack_into(
                ">6I", text, at, *times, seen.st_dev & 0xFFFFFFFF, seen.st_ino & 0xFFFFFFFF
            )
            at = end + 8 - (end - at) % 8
        text[-20:] = hashlib.sha1(text[:-20], usedforsecurity=False).digest()
        index.write_bytes(text)

    def write(self, files: Mapping[str, str]) -> None:
        """Write files, and create their folders."""
        for path, text in files.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text.encode())

    def read(self, path: str) -> str:
        """Return the content of a file with unchanged line endings."""
        return (self.root / path).read_bytes().decode()

    def git(self, *arguments: str) -> str:
        """Run git as a test author, without the user's configuration."""
        identity = ("-c", "user.name=author", "-c", "user.email=author@example.org")
        command = ["git", *identity, "-c", "maintenance.auto=false", *arguments]
        return subprocess.run(
            command,
            cwd=self.root,
            env=self.environment(),
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    @property
    def run_folder(self) -> Path:
        """Return the folder of the latest run."""
        return max(
            (self.root / "logs").glob("*/events.jsonl"), key=lambda path: path.stat().st_mtime_ns
        ).parent

    def environment(self, environ: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return an environment without the user's own variables, plus `environ`.

        The untouched files are not built, unless `environ` sets `CODE_COMMIT_BUILD__BASELINE`.
        """
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        home = {
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "CODE_COMMIT_BUILD__BASELINE": "never",
        }
        return {**inherited, **home, **(environ or {})}

    def command(
        self,
        *arguments: str,
        environ: Mapping[str, str] | None = None,
        plugins: Sequence[Path] = (),
        stdin: str | bytes = "",
        timeout: float = 120,
        cwd: Path | None = None,
        cold: bool = False,
    ) -> Finished:
        """Run `code-commit` here and wait for it.

        `plugins` are folders with one distribution each (see `install_plugin`), `timeout` is in
        seconds. For `cold` see `start`.
        """
        command = python_command("code_commit", *arguments)
        environ = self._environment_of_start(environ, plugins)
        address = None if cold else warm_address(environ)
        with TemporaryFile() as typed, TemporaryFile() as stdout, TemporaryFile() as stderr:
            typed.write(stdin.encode() if isinstance(stdin, str) else stdin)
            typed.seek(0)
            if address:
                streams = (typed, stdout, stderr)
                code = run_warm(address, command, cwd or self.root, environ, streams, timeout)
            else:
                code = subprocess.run(
                    command,
                    cwd=cwd or self.root,
                    env=environ,
                    stdin=typed,
                    stdout=stdout,
                    stderr=stderr,
                    timeout=timeout,
                    check=False,
                ).returncode
            stdout.seek(0)
            stderr.seek(0)
            return Finished(code, stdout.read().decode(), stderr.read().decode("utf-8", "replace"))

    def start(
        self,
        *arguments: str,
        environ: Mapping[str, str] | None = None,
        plugins: Sequence[Path] = (),
        cwd: Path | None = None,
        cold: bool = False,
        stdin: int = subprocess.PIPE,
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
    ) -> subprocess.Popen[bytes]:
        """Start `code-commit` here and return at once.

        By default, `stdin`, `stdout` and `stderr` are pipes.

        For tests that answer or interrupt a workflow; use it in a `with` statement. On Linux the
        command runs in a fork of a process that has imported the libraries, which is faster: this
        process passes signals on to it, and ends as it ends. Pass `cold` to start a new
        interpreter, if the test is about imports, memory or the start itself.
        """
        command = python_command("code_commit", *arguments)
        environ = self._environment_of_start(environ, plugins)
        address = None if cold else warm_address(environ)
        if address:
            command = warm_command(address, command)
        process = _ChildProcess(
            command,
            cwd=cwd or self.root,
            env=environ,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
        )
        if address:
            process.kill_signal = KILL
        return process

    def _environment_of_start(
        self, environ: Mapping[str, str] | None, plugins: Sequence[Path]
    ) -> dict[str, str]:
        # A shell starts background jobs so, and children inherit.
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        folders = os.pathsep.join(map(str, plugins))
        return self.environment({"PYTHONPATH": folders, **(environ or {})})


class _ChildProcess(subprocess.Popen[bytes]):
    """A process that ends with a test that fails; the `with` statement alone would wait for it."""

    kill_signal = signal.SIGKILL

    def kill(self) -> None:
        """Kill the process. The fork of a warm process has ended when `wait` returns, too."""
        self.send_signal(self.kill_signal)

    def __exit__(self, kind: type[BaseException] | None, *error: Any) -> None:  # noqa: PYI036 - passed on
        """Kill the process after an exception, and wait for it."""
        if kind:
            self.kill()
        super().__exit__(kind, *error)


def install_plugin(
    folder: Path,
    name: str,
    code: str,
    *,
    distribution: str = "",
    version: str = "1.0",
    group: str = "code_commit",
) -> Path:
    """Create an installed distribution with one plugin; pass the result as `plugins`.

    `code` becomes the module `<name>_plugin`. Several calls may share a folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    distribution = distribution or f"code-commit-{name}"
    module = f"{name.replace('-', '_')}_plugin"
    (folder / f"{module}.py").write_text(code, "utf-8")
    info = folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n", "utf-8"
    )
    (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}\n", "utf-8")
    return folder
