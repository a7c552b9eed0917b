"""Processes that a program talks to while they run."""

from __future__ import annotations

import pytest

from code_commit_workspace import (
    Interrupted,
    NotReady,
    Redactor,
    SandboxSettings,
    Workspace,
)

KEY = "sk-canary-0123456789"


@pytest.fixture
def root(small_project):
    return small_project


@pytest.fixture(params=["auto", "off"])
def talking(request, root):
    settings = SandboxSettings(mode=request.param, secret_variables=frozenset({"HIDDEN"}))
    with Workspace.open(
        root, writes=True, private_folder="agent-config", sandbox=settings, redactor=Redactor([KEY])
    ) as workspace:
        yield workspace


def test_a_process_to_talk_to(talking, monkeypatch):
    monkeypatch.setenv("HIDDEN", "x")
    monkeypatch.setenv("SOME_URL", f"https://{KEY}@example.org")
    code = 'read line; echo "$line $MORE $HIDDEN $SOME_URL $PWD"; echo careful >&2; exit 3'
    with talking.start_process(["bash", "-c", code], env={"MORE": "more"}) as process:
        process.stdin.write(b"hello\n")
        assert process.stdout.readline() == f"hello more   {talking.root}\n".encode()
        assert process.stderr.readline() == b"careful\n"
        assert process.wait(60) == 3
    assert process.tampered == ()


def test_a_process_to_talk_to_ends_in_time(talking):
    process = talking.start_process(["bash", "-c", "sleep 1000 & echo $!; wait"])
    process.stdout.readline()
    with pytest.raises(TimeoutError):
        process.wait(0.1)
    talking.close()
    assert process.wait() is None
    assert process.stdin.closed
    with pytest.raises(Interrupted):
        talking.start_process(["true"])


def test_any_thread_ends_the_processes_and_no_more_start(talking):
    processes = [talking.start_process(["sleep", "1000"]) for _ in range(2)]
    talking.scope.end()
    assert [process.wait(60) for process in processes] == [None, None]
    assert talking.scope.wait_until_over(60)
    assert all(process.stdin.closed for process in processes)


def test_a_process_that_alters_what_checks_it_is_told(talking):
    with talking.start_process(["bash", "-c", "echo >> build.sh || echo no"]) as process:
        process.stdout.read()
    assert process.tampered == (() if talking.sandbox_in_use == "bubblewrap" else ("build.sh",))


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("no-such-command", "not found"),
        ("./missing", "not found"),
        ("./a", "not an executable file"),
        ("./.git", "not an executable file"),
    ],
)
def test_a_process_that_cannot_be_started(talking, command, reason):
    with pytest.raises(NotReady, match=f"{command} cannot be started: .*{reason}"):
        talking.start_process([command])
