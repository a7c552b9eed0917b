"""What several tests of the workspace start from."""

from __future__ import annotations

import ctypes
import gc
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from code_commit_workspace.keys.redaction import Redactor
from code_commit_workspace.move import disk
from code_commit_workspace.process.runner import ProcessRunner
from code_commit_workspace.records import ProcessResult, Protected, SandboxSettings


@pytest.fixture(scope="session")
def _git_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    template = tmp_path_factory.mktemp("template")
    for name in ("hooks", "info"):
        (template / name).mkdir()
    return template


def _handles_in(folder: str) -> set[tuple[str, str]]:
    """Return the open handles of this process that lead into `folder`; where no system tells,
    none.
    """
    handles = set()
    with suppress(OSError):
        for number in os.listdir("/proc/self/fd"):  # noqa: PTH208 - twice for each test
            with suppress(OSError):
                handles.add((number, os.readlink(f"/proc/self/fd/{number}")))  # noqa: PTH115 - as above
    # A sandbox that nobody closed keeps its folder.
    return {
        handle
        for handle in handles
        if handle[1].startswith(folder) and "/code-commit/sandbox/" not in handle[1]
    }


@pytest.fixture(autouse=True)
def _no_handle_stays_open(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Fail a test that leaves a handle in its own folder open, once threads have had their time to
    end.
    """
    folder = f"{tmp_path_factory.getbasetemp()}/test_"
    before = _handles_in(folder)
    yield
    for _ in range(3000):
        left = _handles_in(folder) - before
        if not left:
            return
        gc.collect()
        threading.Event().wait(0.02)
    pytest.fail(f"left open: {left}")


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch: pytest.MonkeyPatch, _git_template: Path) -> None:
    """Leave out what only a loss of power would show, and the sample hooks of new repositories."""
    monkeypatch.setattr(os, "fsync", lambda _handle: None)
    monkeypatch.setattr(disk, "flush_file_system", lambda _handle: None)
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(_git_template))


@pytest.fixture(scope="session")
def _first_ones(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("first")


@pytest.fixture
def copied(_first_ones: Path) -> Callable[[Path, Callable[[Path], object]], Path]:
    """Fill a folder as a function does, which runs only for the first test that asks for it."""

    def copied(folder: Path, make: Callable[[Path], object]) -> Path:
        first = _first_ones / f"{make.__module__}.{make.__qualname__}"
        if not first.exists():
            make(first)
        shutil.copytree(first, folder, symlinks=True, dirs_exist_ok=True)
        return folder

    return copied


def _initialize(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", folder], check=True)


@pytest.fixture
def git_init(copied: Callable[..., Path]) -> Callable[[Path], Path]:
    """Do as `git init` does, without a process."""
    return lambda folder: copied(folder, _initialize)


@pytest.fixture(scope="session")
def protected() -> tuple[Protected, ...]:
    """The names that a host protects, as code-commit does."""
    return (
        *map(
            Protected, ("Cargo.lock", "build.sh", "codeRollup.sh", "LLMInstructions.md", "target")
        ),
        Protected("UserSpecification.md", anywhere=True),
        Protected("agent-config", "anything in the agent-config folder", readable=False),
        Protected("logs", readable=False),
    )


@pytest.fixture
def no_privileges() -> Iterator[None]:
    """Give up what root may do with files beyond other users, in this thread."""
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # capabilities(7), the third version of the calls
    sets = (ctypes.c_uint32 * 6)()
    assert libc.capget(header, sets) == 0
    effective = sets[0]
    sets[0] &= ~0b1111  # CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER
    assert libc.capset(header, sets) == 0
    yield
    sets[0] = effective
    assert libc.capset(header, sets) == 0


@pytest.fixture
def small_project(tmp_path: Path, copied: Callable[..., Path]) -> Path:
    """A repository with the files `a` and `b`; its build passes if `a` is new."""

    def make(root: Path) -> None:
        root.mkdir()
        (root / "a").write_text("old")
        (root / "b").write_text("old")
        (root / "build.sh").write_text("grep -q new a\n")
        (root / ".gitignore").write_text("/agent-config\n")
        for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "start"]):
            subprocess.run(["git", *arguments], cwd=root, check=True)

    return copied(tmp_path / "project", make)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without a configuration of git, which the environment does not configure
    either.
    """
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("XDG_CONFIG_HOME", *(name for name in os.environ if name.startswith("GIT_"))):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def sandbox_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder of the account, with its own cache."""
    folder = tmp_path / "home"
    (folder / ".cache").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    return folder


@pytest.fixture
def sandbox_project(sandbox_home: Path) -> Path:
    """A project in the home folder, with a key."""
    root = sandbox_home / "src/project"
    files = {
        "build.sh": "true\n",
        ".gitignore": "/agent-config\n",
        "agent-config/key.txt": "canary-5f3a9c1e7b",
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


@pytest.fixture
def sandboxed(sandbox_project: Path, tmp_path: Path) -> Callable[..., ProcessResult]:
    """Run a script of bash in the sandbox of a new run in the project, with these settings."""

    def run(script: str, *, mode: str = "require", **settings: object) -> ProcessResult:
        runner = ProcessRunner(
            sandbox_project,
            SandboxSettings(mode, **settings),  # type: ignore[arg-type]
            state_folder="agent-config/.code-commit",
            redactor=Redactor(),
        )
        assert runner.sandbox_in_use == "bubblewrap"
        try:
            return runner.run(["bash", "-c", script], log=tmp_path / "log", timeout=60.0)
        finally:
            runner.remove_private_folders()

    return run


_IN_SANDBOX = """
import sys
from pathlib import Path
from code_commit_workspace.process.runner import ProcessRunner
from code_commit_workspace.records import SandboxSettings
from code_commit_workspace.keys.redaction import Redactor

root = Path(sys.argv[1])
runner = ProcessRunner(root, SandboxSettings("require"), state_folder="agent-config/.code-commit", redactor=Redactor())
result = runner.run(["bash", "-c", sys.argv[2]], log=root.parent / "log", timeout=60.0)
sys.stdout.buffer.write(result.output)
runner.remove_private_folders()
"""
_PLAIN_ACCOUNT = 65534


@pytest.fixture
def by_plain_account() -> Iterator[Callable[[str], str]]:
    """Run a script of bash in the sandbox of an account without privileges; return its output.

    That is this account if it has none, or else another one, if it can run our code.
    """
    source = Path(__file__).parents[1] / "src"
    python = [sys.executable, "-c"]
    if os.geteuid() == 0:
        account = [f"--reuid={_PLAIN_ACCOUNT}", f"--regid={_PLAIN_ACCOUNT}", "--clear-groups"]
        python = ["setpriv", *account, "/usr/bin/python3", "-c"]
    probe = subprocess.run(
        [*python, "import code_commit_workspace"],
        env={"PYTHONPATH": str(source)},
        capture_output=True,
        check=False,
    )
    if probe.returncode:
        pytest.skip(f"another account cannot run this: {probe.stderr.decode()}")
    with TemporaryDirectory() as name:  # pytest closes the folder above every `tmp_path`
        home = Path(name)
        (home / "project").mkdir()
        (home / "project/build.sh").write_text("true\n")
        for path in (home, *home.rglob("*")) if os.geteuid() == 0 else ():
            os.chown(path, _PLAIN_ACCOUNT, _PLAIN_ACCOUNT)
        environ = {"PATH": "/usr/bin:/bin", "HOME": name, "PYTHONPATH": str(source)}

        def run(script: str) -> str:
            completed = subprocess.run(
                [*python, _IN_SANDBOX, str(home / "project"), script],
                env=environ,
                cwd="/",
                capture_output=True,
                text=True,
                check=False,
            )
            assert completed.returncode == 0, completed.stderr
            return completed.stdout

        yield run
