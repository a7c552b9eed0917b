"""What a build leaves behind neither harms a neighbour nor stops `undo`."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from code_commit.plugin_api import python_command
from code_commit_testing import Project, Reply, ScriptedServer
from code_commit_workspace.process import seccomp

CHANGE = "^^^a.txt\ngood\n^^^end\n"
RUN = ("--model", "gpt-5", "--repairs", "0")
# Root may enter every folder, so it gives that up.
ACCOUNT: tuple[str, ...] = ()
if os.geteuid() == 0:
    ACCOUNT = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
needs_account = pytest.mark.skipif(
    bool(ACCOUNT) and not shutil.which("setpriv"), reason="needs setpriv"
)

SETS_BITS = """
cp /bin/true program
umask 0
possible() { "$@" && touch possible; }
possible chmod u+s program
possible install -m 4755 program installed
possible python3 -c 'import os; os.open("opened", os.O_CREAT | os.O_WRONLY, 0o4755)'
possible python3 -c 'import os; os.mknod("node", 0o104755)'
possible sh -c 'cp -p /usr/bin/su copied; test -u copied'
test ! -e possible && mkdir shared && chmod g+s shared && cp -rp shared again && test -g again
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.create(tmp_path)


def run(project: Project, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run code-commit as an account without rights over folders that are closed."""
    with ScriptedServer([Reply(CHANGE)]) as server:
        variables = {"OPENAI_API_KEY": "sk-canary-0123456789-key7Q", **server.environment()}
        return subprocess.run(
            [*ACCOUNT, *python_command("code_commit", *arguments)],
            cwd=project.root,
            env=project.environment(variables),
            capture_output=True,
            text=True,
            check=False,
        )


def has_bits(root: Path) -> bool:
    """Return whether a file below `root` is set-uid or set-gid."""
    modes = [path.stat().st_mode for path in root.rglob("*") if path.is_file()]
    return any(mode & (stat.S_ISUID | stat.S_ISGID) for mode in modes)


@pytest.mark.usefixtures("bubblewrap")
@pytest.mark.skipif(bool(seccomp.why_unfiltered()), reason=seccomp.why_unfiltered())
def test_a_build_makes_no_set_uid_program_and_shared_folders(project: Project) -> None:
    project.write({"build.sh": SETS_BITS})

    finished = run(project, *RUN)

    assert finished.returncode == 0, finished.stderr
    assert not has_bits(project.root)


@needs_account
@pytest.mark.usefixtures("bubblewrap")
@pytest.mark.parametrize(
    ("build", "name"),
    [
        ("chmod 0 .", ". (was closed)"),
        ("mkdir sub; mkfifo sub/.gitattributes", "sub/.gitattributes (was a named pipe)"),
        ("cp /bin/true t; chmod g+s t", "t (was set-gid)"),
    ],
)
def test_what_a_build_leaves_is_named_and_does_not_stop_undo(
    project: Project, build: str, name: str
) -> None:
    project.write({"build.sh": f"{build}\n"})

    finished = run(project, *RUN)

    assert finished.returncode == 1, finished.stderr
    assert f"error: the build changed its own checks: {name}\n" in finished.stderr
    assert "files stay changed:\n    a.txt" in finished.stderr
    undone = run(project, "undo")
    assert undone.returncode == 0, undone.stderr
    assert project.read("a.txt") == "old\n"
    assert not has_bits(project.root)


@needs_account
@pytest.mark.parametrize("arguments", [("undo",), ("runs", "list"), ("doctor",), RUN])
def test_a_project_that_this_account_may_not_enter(
    project: Project, arguments: tuple[str, ...]
) -> None:
    project.root.chmod(0)
    try:
        finished = run(project, *arguments)
    finally:
        project.root.chmod(0o755)

    assert finished.returncode == 3
    assert f"error: your account may not use the current folder {project.root}" in finished.stderr
    assert f"hint: `chmod u+rwx {project.root}`" in finished.stderr
