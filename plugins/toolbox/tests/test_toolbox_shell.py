"""The shell: bounded, isolated, refused where it cannot be."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

OFF = ["--sandbox", "off"]


@pytest.fixture
def bubblewrap():
    try:
        subprocess.run(["bwrap", "--bind", "/", "/", "--unshare-pid", "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"needs bubblewrap: {error}")


def shell(bench, command: str, **options):
    return bench.use("shell", {"command": command}, **options)


def test_exit_code_stdout_and_stderr_are_told(bench):
    result = shell(bench, "echo out; echo err >&2; exit 3", flags=OFF).result
    assert result["text"] == "exit code: 3\n--- stdout ---\nout\n--- stderr ---\nerr"
    assert not result["is_error"]


def test_nobody_is_asked_and_nothing_is_there_to_read(bench):
    assert shell(bench, "cat; echo $?", flags=OFF).result["text"] == "exit code: 0\n--- stdout ---\n0"


def test_two_gigabytes_of_output_are_cut_and_kept_in_the_run_folder(bench):
    worked = shell(bench, "echo first; yes | head -c 2147483648; echo last", flags=OFF)
    text = worked.result["text"]
    assert text.startswith("exit code: 0\n--- stdout ---\nfirst\ny\n")
    assert text.endswith("y\nlast")
    assert len(text) < 40_000
    [log] = re.findall(r"characters left out; see (logs/\S+) \.\.\.", text)
    kept = bench.project.root / log
    assert kept.parent == bench.project.run_folder
    assert kept.stat().st_size > 10**6


def test_bytes_that_are_no_text_do_no_harm(bench):
    result = shell(bench, r"printf 'caf\xe9\x00\x1b[31m\n'", flags=OFF).result
    assert result["text"] == "exit code: 0\n--- stdout ---\ncaf\ufffd\0\x1b[31m"


def test_the_time_limit_ends_daemons_too(bench):
    command = "(trap '' TERM; exec -a left-behind sleep 600) & disown; setsid sleep 601 & echo $! > pid; wait"
    worked = bench.use("shell", {"command": command, "timeout_seconds": 1}, flags=OFF)
    assert worked.result["is_error"]
    assert "was ended after 1 s, with all that it had started" in worked.result["text"]
    pid = int(bench.project.read("pid"))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_command_that_leaves_a_daemon_ends_at_once(bench):
    worked = shell(bench, "setsid sleep 600 & echo $! > pid", flags=OFF)
    assert worked.result["text"].startswith("exit code: 0")
    with pytest.raises(ProcessLookupError):
        os.kill(int(bench.project.read("pid")), 0)


def test_the_longest_time_limit_is_a_setting(bench):
    bench.settings("[plugins.toolbox]\nshell_seconds_at_most = 0.5\n")
    worked = bench.use("shell", {"command": "sleep 600", "timeout_seconds": 500}, flags=OFF)
    assert "was ended after 0.5 s" in worked.result["text"]


def test_without_isolation_it_refuses(bench, no_sandbox):
    worked = shell(bench, "echo x > made.txt", environ=no_sandbox)
    assert worked.end == "FINISHED"
    assert worked.result["is_error"]
    assert "was not run" in worked.result["text"]
    assert not (bench.project.root / "made.txt").exists()
    assert any("--sandbox off" in message["text"] for message in worked.events("message"))


def test_without_isolation_it_runs_when_that_was_asked_for(bench, no_sandbox):
    assert "exit code: 0" in shell(bench, "true", environ=no_sandbox, flags=OFF).result["text"]


def test_isolated_it_sees_no_key_and_cannot_change_what_judges(bench, bubblewrap):
    bench.project.write({"agent-config/openai-key.txt": "sk-canary-0123456789\n"})
    command = "cat agent-config/openai-key.txt; echo x >> build.sh; echo x > .git/config; echo x > fine.txt"
    worked = shell(bench, command)
    assert "canary" not in worked.result["text"]
    assert worked.result["text"].count("Read-only file system") == 2
    assert bench.project.read("build.sh") == "exit 0\n"
    assert bench.project.read("fine.txt") == "x\n"


def test_who_alters_the_judge_has_failed(bench):
    late = ["write_file", {"path": "late.txt", "content": "x"}]
    worked = bench.work(
        {"calls": [["shell", {"command": "echo exit 0 > build.sh; echo ok >> build.sh"}], late]}, flags=OFF
    )
    assert (worked.finished.exit_code, worked.end, worked.data["tampered"]) == (1, "TAMPERED", ["build.sh"])
    assert "altered what judges this project" in worked.result["text"]
    assert not (bench.project.root / "late.txt").exists()
