"""The sandbox of root and of other accounts, with a home folder and without one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from code_commit_workspace.errors import NotReady
from code_commit_workspace.keys.redaction import Redactor
from code_commit_workspace.process.runner import ProcessRunner
from code_commit_workspace.records import ProcessResult, SandboxSettings

CANARY = "canary-5f3a9c1e7b"  # in `sandbox_project` too
pytestmark = pytest.mark.usefixtures("bubblewrap")

Run = Callable[..., ProcessResult]

ACCOUNT = """
import sys
from pathlib import Path
from code_commit_workspace.process.runner import ProcessRunner
from code_commit_workspace.records import SandboxSettings
from code_commit_workspace.keys.redaction import Redactor

root = Path(sys.argv[1])
runner = ProcessRunner(root, SandboxSettings("require"), state_folder="agent-config/.code-commit", redactor=Redactor())
result = runner.run(["bash", "-c", sys.argv[2]], log=root.parent / "log", timeout=60.0)
print(result.exit_code, result.tampered, result.output)
runner.remove_private_folders()
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that another account may enter.

    Whenever pytest starts, it closes the one above every `tmp_path`.
    """
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.parametrize("mode", ["auto", "require"])
@pytest.mark.parametrize("folder", ["/", "~", "~/.."])
def test_a_project_that_holds_the_home_folder_is_refused(
    home: Path, mode: str, folder: str
) -> None:
    runner = ProcessRunner(
        Path(folder).expanduser(),
        SandboxSettings(mode),  # type: ignore[arg-type]
        state_folder="agent-config/.code-commit",
        redactor=Redactor(),
    )

    with pytest.raises(NotReady, match="the sandbox cannot protect it") as caught:
        runner.look_ahead()
    kind = (
        "is the root of the file system" if folder == "/" else f"is or holds the home folder {home}"
    )
    assert caught.value.message.startswith(f"the project {os.path.realpath(runner._root)} {kind}: ")
    assert caught.value.hint == "work in a subfolder, or pass --sandbox off"


@pytest.mark.parametrize("mode", ["auto", "require"])
@pytest.mark.parametrize(
    ("home_folder", "message", "hint"),
    [
        (
            "/proc/self",
            "private temporary folders cannot be created in",
            "set XDG_CACHE_HOME to a writable folder",
        ),
        ("/nobody", "there is no home folder /nobody", "set HOME to one"),
    ],
)
def test_without_a_home_folder_no_process_starts(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
    home_folder: str,
    message: str,
    hint: str,
) -> None:
    monkeypatch.setenv("HOME", home_folder)
    runner = ProcessRunner(
        project,
        SandboxSettings(mode),  # type: ignore[arg-type]
        state_folder="agent-config/.code-commit",
        redactor=Redactor(),
    )

    with pytest.raises(NotReady, match=f"no sandbox for {project}: {message}") as caught:
        runner.look_ahead()
    assert caught.value.hint.startswith(hint)
    assert caught.value.hint.endswith(", or pass --sandbox off")
    assert not Path("/nobody").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_root_works_in_the_project_of_another_user(run: Run, project: Path) -> None:
    (project / "closed").mkdir(mode=0o700)
    for path in (project, project / "build.sh", project / "closed"):
        os.chown(path, 65534, 65534)

    result = run(
        "touch closed/made && chown 65534 closed/made && chmod 600 build.sh; grep CapEff /proc/self/status"
    )

    assert (project / "closed/made").stat().st_uid == 65534
    assert b"CapEff:\t000000000000000b\n" in result.output


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests show it")
def test_an_account_without_privileges_has_the_same_sandbox(open_folder: Path) -> None:
    source = Path(__file__).parents[2] / "src"
    home = open_folder / "account"
    (home / "project/agent-config").mkdir(parents=True)
    (home / "project/build.sh").write_text("true\n")
    (home / "project/agent-config/key").write_text(CANARY)
    (home / ".netrc").write_text(CANARY)
    for path in (home, *home.rglob("*")):
        os.chown(path, 65534, 65534)
    python = "/usr/bin/python3"
    account = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", python, "-c", ACCOUNT]
    script = "touch made ~/x build.sh; cat agent-config/key ~/.netrc; id -u; grep CapEff /proc/self/status"
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(home), "PYTHONPATH": str(source)}

    probe = subprocess.run(
        [*account[:4], python, "-c", f"open({str(source / 'code_commit_workspace/errors.py')!r})"],
        check=False,
    )
    if probe.returncode:
        pytest.skip("another account cannot read this checkout")
    completed = subprocess.run(
        [*account, str(home / "project"), script],
        env=environ,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )

    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.startswith("0 ()"), completed.stdout
    assert "65534\\nCapEff:\\t0000000000000000" in completed.stdout
    assert completed.stdout.count("Read-only file system") == 2
    assert CANARY not in completed.stdout
    assert (home / "project/made").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="about root")
def test_root_that_may_not_mount_works_as_another_user_would(project: Path) -> None:
    (project / "script").write_text("touch made ~/x build.sh; ls agent-config; id -u\n")
    command = [
        "setpriv",
        "--bounding-set=-sys_admin",
        sys.executable,
        "-c",
        ACCOUNT,
        str(project),
        "source ./script",
    ]

    completed = subprocess.run(command, capture_output=True, text=True, check=False)

    assert completed.stdout.startswith("0 () "), completed.stdout + completed.stderr
    assert r"\n0\n" in completed.stdout
    assert completed.stdout.count("Read-only file system") == 2
    assert (project / "made").exists()
