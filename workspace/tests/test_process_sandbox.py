"""In the sandbox, a build sees no key and cannot change what checks it; without a sandbox, the
modes decide.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
import threading
from pathlib import Path

import pytest

from code_commit_workspace.errors import NotReady
from code_commit_workspace.keys.redaction import Redactor
from code_commit_workspace.process.launch import Process
from code_commit_workspace.process.runner import ProcessRunner
from code_commit_workspace.process.sandbox.sandbox import Sandbox
from code_commit_workspace.records import SandboxSettings

MINUTE = 60.0
KEY = "sk-canary-0123456789"


@pytest.fixture
def no_bubblewrap(monkeypatch, tmp_path):
    """A PATH as on a machine where bubblewrap is installed but not permitted."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "bwrap").write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n"
    )
    (tools / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    for path, text in {
        "build.sh": "true\n",
        ".gitignore": "/agent-config\n",
        "sub/.gitignore": "*.o\n",
        "sub/code.c": "",
        ".git/config": "[core]\n",
        ".git/hooks/pre-commit.sample": "exit 0\n",
        "agent-config/gemini-key.txt": KEY,
        "agent-config/.code-commit/lock": "",
        "logs/.gitignore": "*\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def _tree(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): path.read_text()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def run(bubblewrap, project, tmp_path):
    def run(script, protected=(), **settings):
        runner = ProcessRunner(
            project,
            SandboxSettings("require", read_only=("logs",), **settings),
            state_folder="agent-config/.code-commit",
            redactor=Redactor(),
            protected=protected,
        )
        assert runner.sandbox_in_use == "bubblewrap"
        return runner.run(
            ["bash", "-c", script], log=tmp_path / "log", timeout=MINUTE, isolation_required=True
        )

    return run


def test_keys_are_not_there(run):
    result = run(
        "ls -A agent-config; cat agent-config/gemini-key.txt; grep -r canary . ; echo x > agent-config/x; true"
    )

    assert b"***" not in result.output  # a key
    assert b"agent-config/x: Permission denied" in result.output
    assert result.tampered == ()


@pytest.mark.parametrize(
    "attack",
    [
        "echo x > build.sh",
        "rm -f build.sh",
        "mv build.sh b; echo true > build.sh",
        "echo x >> .gitignore",
        "rm -f sub/.gitignore",
        "rm -rf .git",
        "mv .git tig; mkdir .git",
        "echo x > .git/hooks/pre-commit",
        "sed -i s/core/evil/ .git/config",
        "rm -rf agent-config",
        "mv agent-config ac; mkdir agent-config; echo x > agent-config/config.toml",
        "echo x > logs/x",
        "umount agent-config; umount -l agent-config; echo x > agent-config/x",
        "mount -o remount,rw .git; mount -o remount,rw,bind .git; echo x > .git/config",
        "unshare -Urm sh -c 'umount agent-config .git; mount -o remount,rw,bind .git; echo x > .git/config; cat agent-config/*'",
        "mkdir m; unshare -Urm sh -c 'mount --bind . m; cat m/agent-config/*; echo x > m/.git/config'; rmdir m",
        "nsenter -t 1 -m sh -c 'echo x > .git/config; cat agent-config/*'",
        "cat /proc/*/root$PWD/agent-config/*; echo x > /proc/1/root$PWD/.git/config",
        "ln .git/config c; echo x > c; rm -f c",
        "echo x > /proc/self/cwd/.git/config",
        "for p in /proc/[0-9]*; do kill -9 ${p#/proc/}; done",
    ],
)
def test_attacks_change_nothing_and_see_no_key(run, project, attack):
    before = _tree(project)

    result = run(f"{attack}\ntrue")

    assert _tree(project) == before
    assert result.tampered == ()
    assert KEY.encode() not in result.output


def test_what_cannot_be_prevented_is_seen(run, project):
    """A missing file cannot be mounted over."""
    shutil.rmtree(project / "agent-config")

    assert run("mkdir agent-config; echo model=1 > agent-config/config.toml").tampered == (
        "agent-config/config.toml",
    )


def test_a_folder_above_a_read_only_file_cannot_be_renamed(run, project):
    (project / "sub/deep/er").mkdir(parents=True)
    (project / "sub/deep/er/.gitignore").write_text("*.o\n")
    before = _tree(project)

    result = run(
        "mv sub bus; mv sub/deep sub/peed; mv sub/deep/er sub/deep/re; rm -rf sub/deep; touch sub/deep/made"
    )

    assert result.output.count(b"Device or resource busy") >= 3
    assert result.tampered == ()
    assert _tree(project) == before | {"sub/deep/made": ""}


def test_nothing_is_made_for_what_does_not_exist(run, project):
    for path in ("build.sh", ".gitignore"):
        (project / path).unlink()
    shutil.rmtree(project / "agent-config")
    shutil.rmtree(project / "logs")
    before = _tree(project)

    assert run("true").passed
    assert _tree(project) == before
    assert not (project / "agent-config").exists()


def test_writes_reach_the_project_and_private_folders_alone(run, project, tmp_path):
    (tmp_path / "outside").write_text("there")
    folders = (str(tmp_path), "/tmp", "/var/tmp", "~/.cache", "/dev/shm")
    places = [f"{folder}/{os.getpid()}-new" for folder in folders]  # others may have a /tmp/new

    result = run(
        f"touch {' '.join(places)} || exit; cat ../outside; echo x > made; echo y > sub/made; touch ~/new"
    )

    assert b"there" not in result.output
    assert b"new': Read-only file system" in result.output
    assert result.output.count(b"\n") == 2
    assert not [path for path in map(Path, places) if path.expanduser().exists()]
    assert _tree(project)["sub/made"] == "y\n"


def test_no_process_outside_is_seen(run):
    assert (
        str(os.getpid()).encode() not in run("ps -eo pid= 2>/dev/null || ls /proc").output.split()
    )


def test_terminals_of_others_are_not_there(run):
    primary, secondary = os.openpty()
    try:
        result = run(
            f"printf '\\033]52;c;x\\007' > {os.ttyname(secondary)}; ls /dev/pts; echo > /dev/tty"
        )
        os.set_blocking(primary, False)
        with pytest.raises(BlockingIOError):
            os.read(primary, 100)
    finally:
        os.close(primary)
        os.close(secondary)

    assert not result.passed


def test_terminals_of_its_own_work(run):
    assert (
        run("python3 -c 'import os; a, b = os.openpty(); print(os.ttyname(b))'").output
        == b"/dev/pts/0\n"
    )


def test_further_places_can_be_hidden_and_protected(run, tmp_path):
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "config.toml").write_text(f"api_key = '{KEY}'")
    (tmp_path / "top.git").mkdir()
    (tmp_path / "top.git" / "config").write_text("[core]\n")

    result = run(
        "cat ../user/config.toml; echo x > ../top.git/config",
        hidden=[tmp_path / "user" / "config.toml", tmp_path / "no such file"],
        protected=[tmp_path / "top.git"],
    )

    assert not any(shown in result.output for shown in (b"api_key", b"***"))
    assert (tmp_path / "top.git" / "config").read_text() == "[core]\n"


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(MINUTE)
        yield server


@pytest.mark.parametrize("network", [True, False])
def test_the_network_can_be_turned_off(run, project, listener, network):
    result = run(f"exec 3<> /dev/tcp/127.0.0.1/{listener.getsockname()[1]}", network=network)

    assert result.passed == network


def test_links_in_the_place_of_what_is_protected(run, project, tmp_path):
    (project / "agent-config").rename(tmp_path / "real config")
    (project / "agent-config").symlink_to(tmp_path / "real config")
    (project / "build.sh").rename(project / "real.sh")
    (project / "build.sh").symlink_to("real.sh")

    assert b"***" not in run("cat agent-config/* '../real config'/*").output
    assert run("echo x > build.sh").tampered == ("build.sh",)
    assert run("rm agent-config; ln -s sub agent-config").tampered != ()


def test_a_link_that_would_hide_the_project_itself_is_refused(run, project, tmp_path):
    shutil.rmtree(project / "agent-config")
    (project / "agent-config").symlink_to(tmp_path)

    with pytest.raises(NotReady, match="is in"):
        run("true")


def test_without_bubblewrap_auto_says_off(no_bubblewrap, project, tmp_path):
    runner = ProcessRunner(
        project, SandboxSettings(), state_folder="agent-config/.code-commit", redactor=Redactor()
    )

    assert runner.sandbox_in_use == "off"
    result = runner.run(["bash", "build.sh"], log=tmp_path / "log", timeout=MINUTE)
    assert result.passed
    assert "sandbox: off\n" in result.log.read_text()


def test_without_bubblewrap_require_does_not_run(no_bubblewrap, project, tmp_path):
    runner = ProcessRunner(
        project,
        SandboxSettings("require"),
        state_folder="agent-config/.code-commit",
        redactor=Redactor(),
    )

    with pytest.raises(NotReady, match="No permissions to create a new namespace") as refused:
        runner.run(["touch", "ran"], log=tmp_path / "log", timeout=MINUTE)

    assert "--sandbox" in refused.value.hint
    assert not (project / "ran").exists()


@pytest.mark.parametrize(("mode", "runs"), [("auto", False), ("off", True)])
def test_commands_of_the_models_choosing_need_isolation_or_a_clear_word(
    no_bubblewrap, project, tmp_path, mode, runs
):
    runner = ProcessRunner(
        project,
        SandboxSettings(mode),
        state_folder="agent-config/.code-commit",
        redactor=Redactor(),
    )

    def execute():
        return runner.run(["true"], log=tmp_path / "log", timeout=MINUTE, isolation_required=True)

    if runs:
        assert execute().passed
    else:
        with pytest.raises(
            NotReady, match="only run in the sandbox: bubblewrap does not work"
        ) as caught:
            execute()
        assert (
            caught.value.hint
            == "install bubblewrap, or pass --sandbox off to run them with your rights"
        )


def test_a_network_that_cannot_be_turned_off_is_no_secret(no_bubblewrap, project, tmp_path):
    with pytest.raises(NotReady, match="network") as caught:
        ProcessRunner(
            project,
            SandboxSettings(network=False),
            state_folder="agent-config/.code-commit",
            redactor=Redactor(),
        ).run(["true"], log=tmp_path / "log", timeout=MINUTE)
    assert (
        caught.value.hint == "install bubblewrap, set sandbox.network = true, or pass --sandbox off"
    )


def test_bubblewrap_that_is_not_installed_is_named(monkeypatch, tmp_path, project):
    monkeypatch.setenv("PATH", str(tmp_path))

    assert "not installed" in Sandbox(project, network=True).why_not()


def test_there_is_no_sandbox_for_other_systems(monkeypatch, project):
    monkeypatch.setattr(sys, "platform", "darwin")

    with pytest.raises(NotReady, match="no sandbox: bubblewrap needs Linux"):
        ProcessRunner(
            project,
            SandboxSettings("require"),
            state_folder="agent-config/.code-commit",
            redactor=Redactor(),
        ).look_ahead()


def test_bubblewrap_is_never_taken_from_the_project(bubblewrap, project, tmp_path, monkeypatch):
    """An active virtual environment in the project, for example: a build can write there."""
    (project / ".venv/bin").mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{project / '.venv/bin'}{os.pathsep}{os.environ['PATH']}")
    runner = ProcessRunner(
        project,
        SandboxSettings("require"),
        state_folder="agent-config/.code-commit",
        redactor=Redactor(),
    )
    plant = "printf '#!/bin/sh\ntouch ran' > .venv/bin/bwrap; chmod +x .venv/bin/bwrap"

    assert runner.run(["bash", "-c", plant], log=tmp_path / "log", timeout=MINUTE).passed
    assert runner.run(["true"], log=tmp_path / "log", timeout=MINUTE).passed
    assert not (project / "ran").exists()


def test_a_sandbox_that_cannot_be_set_up_is_no_failed_build(
    bubblewrap, project, tmp_path, monkeypatch
):
    monkeypatch.setattr(
        Sandbox, "wrapper", lambda _: [shutil.which("bwrap"), "--bind", "/no/such/place", "/"]
    )
    runner = ProcessRunner(
        project,
        SandboxSettings("require"),
        state_folder="agent-config/.code-commit",
        redactor=Redactor(),
    )

    with pytest.raises(NotReady, match=r"could not be set up.*no/such/place") as caught:
        runner.run(["true"], log=tmp_path / "log", timeout=MINUTE)

    assert caught.value.hint == "fix this, or pass --sandbox off"
    assert (tmp_path / "log").read_text().endswith("not run: the sandbox could not be set up\n")


def test_many_runs_at_once(bubblewrap, project, tmp_path):
    runner = ProcessRunner(
        project,
        SandboxSettings("require"),
        state_folder="agent-config/.code-commit",
        redactor=Redactor(),
    )
    results = []

    def run(number):
        results.append(
            runner.run(["bash", "build.sh"], log=tmp_path / f"log{number}", timeout=MINUTE).passed
        )

    threads = [threading.Thread(target=run, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == [True] * 4


def test_more_mounts_than_fit_a_command_line(bubblewrap, tmp_path):
    options = ["--setenv", "NAME", "x" * 1000] * 2_900  # quicker than as many mounts
    assert sum(map(len, options)) > os.sysconf("SC_ARG_MAX")
    wrapper = [shutil.which("bwrap"), "--bind", "/", "/", "--proc", "/proc", *options]
    command = ["sh", "-c", "test ${#NAME} = 1000"]

    with Process(command, wrapper=wrapper, cwd=tmp_path, env=os.environ, stdin=b"") as process:
        assert process.wait(MINUTE) == 0


def test_options_keep_any_byte(bubblewrap, tmp_path):
    folder = tmp_path / "a b\n\udcff"
    folder.mkdir()
    wrapper = [
        shutil.which("bwrap"),
        "--bind",
        "/",
        "/",
        "--chdir",
        str(folder),
        "--setenv",
        "A",
        "",
    ]

    with Process(["pwd"], wrapper=wrapper, cwd=tmp_path, env=os.environ, stdin=b"") as process:
        assert process.wait(MINUTE) == 0
        assert os.read(process.stdout, 4096) == os.fsencode(folder) + b"\n"


def test_an_option_that_would_be_two_is_refused(bubblewrap, tmp_path):
    wrapper = [shutil.which("bwrap"), "--bind", "/\0--dev-bind", "/"]

    with pytest.raises(ValueError, match="null byte"):
        Process(["true"], wrapper=wrapper, cwd=tmp_path, env={}, stdin=b"")


def test_a_machine_whose_calls_are_not_filtered_is_named(bubblewrap, project, monkeypatch):
    reason = "system calls are not filtered: their numbers on vax are unknown"
    monkeypatch.setattr(
        "code_commit_workspace.process.sandbox.sandbox.why_unfiltered", lambda: reason
    )
    monkeypatch.setattr("code_commit_workspace.process.launch.filter_here", bytes)
    runners = [
        ProcessRunner(
            project,
            SandboxSettings(mode),
            state_folder="agent-config/.code-commit",
            redactor=Redactor(),
        )
        for mode in ("auto", "require")
    ]

    assert runners[0].sandbox_in_use == "bubblewrap"
    assert runners[0].sandbox_warning() == reason
    with pytest.raises(NotReady, match="no sandbox: system calls are not filtered"):
        runners[1].sandbox_in_use  # noqa: B018 - it raises
