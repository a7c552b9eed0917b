"""The shell: its limits and its sandbox."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

OFF = ["--sandbox", "off"]


@pytest.fixture
def bubblewrap():
    try:
        subprocess.run(
            ["bwrap", "--bind", "/", "/", "--unshare-pid", "true"], check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"needs bubblewrap: {error}")


def shell(bench, command: str, **options):
    return bench.use("shell", {"command": command}, **options)


def test_the_result_has_exit_code_stdout_and_stderr(bench):
    result = shell(bench, "echo out; echo err >&2; exit 3", flags=OFF).result
    assert result["text"] == "ended with exit code 3\n--- output ---\nout\nerr"
    assert not result["is_error"]


def test_a_command_has_no_input(bench):
    assert (
        shell(bench, "cat; echo $?", flags=OFF).result["text"]
        == "ended with exit code 0\n--- output ---\n0"
    )


def test_much_output_is_cut_and_logged(bench):
    worked = shell(bench, "echo first; yes | head -c 2000000; echo last", flags=OFF)
    text = worked.result["text"]
    assert text.startswith("ended with exit code 0\n--- output ---\nfirst\ny\n")
    assert text.endswith("y\nlast")
    assert len(text) < 40_000
    [log] = re.findall(r"characters left out; see (logs/\S+) \.\.\.", text)
    file = bench.project.root / log
    assert file.parent == bench.project.run_folder
    assert file.stat().st_size > 10**6


def test_invalid_utf8_in_the_output_is_replaced(bench):
    result = shell(bench, r"printf 'caf\xe9\x00\x1b[31m\n'", flags=OFF).result
    assert result["text"] == "ended with exit code 0\n--- output ---\ncaf\ufffd\0\x1b[31m"


def test_the_time_limit_also_ends_daemons(bench):
    command = "(trap '' TERM; exec -a left-behind sleep 600) & disown; setsid sleep 601 & echo $! > new; mv new pid; wait"
    for limit in (1, 8, 64):  # until the daemon had started, which takes longer on a busy machine
        worked = bench.use("shell", {"command": command, "timeout_seconds": limit}, flags=OFF)
        assert worked.result["is_error"]
        assert f"The command ran into its time limit of {limit} s" in worked.result["text"]
        if (bench.project.root / "pid").exists():
            break
    pid = int(bench.project.read("pid"))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_command_with_a_daemon_ends_immediately(bench):
    worked = shell(bench, "setsid sleep 600 & echo $! > pid", flags=OFF)
    assert worked.result["text"].startswith("ended with exit code 0")
    with pytest.raises(ProcessLookupError):
        os.kill(int(bench.project.read("pid")), 0)


def test_the_maximum_time_limit_is_a_setting(bench):
    bench.settings("[plugins.toolbox]\nshell_seconds_at_most = 0.5\n")
    worked = bench.use("shell", {"command": "sleep 600", "timeout_seconds": 500}, flags=OFF)
    assert "ran into its time limit of 0.5 s" in worked.result["text"]


def test_a_command_is_refused_without_a_sandbox(bench, no_sandbox):
    worked = shell(bench, "echo x > made.txt", environ=no_sandbox)
    assert worked.end == "FINISHED"
    assert worked.result["is_error"]
    assert "was not run" in worked.result["text"]
    assert not (bench.project.root / "made.txt").exists()
    assert any("--sandbox off" in message["text"] for message in worked.events("message"))


def test_a_command_runs_without_a_sandbox_if_it_is_off(bench, no_sandbox):
    assert (
        "ended with exit code 0"
        in shell(bench, "true", environ=no_sandbox, flags=OFF).result["text"]
    )


def test_the_sandbox_hides_keys_and_protects_checks(bench, bubblewrap):
    bench.project.write({"agent-config/openai-key.txt": "sk-canary-0123456789\n"})
    command = "cat agent-config/openai-key.txt; echo x >> build.sh; echo x > .git/config; echo x > fine.txt"
    worked = shell(bench, command)
    assert "canary" not in worked.result["text"]
    assert worked.result["text"].count("Read-only file system") == 2
    assert bench.project.read("build.sh") == "exit 0\n"
    assert bench.project.read("fine.txt") == "x\n"


def test_a_command_that_changes_the_build_ends_the_loop(bench):
    late = ["write_file", {"path": "late.txt", "content": "x"}]
    worked = bench.work(
        {"calls": [["shell", {"command": "echo exit 0 > build.sh; echo ok >> build.sh"}], late]},
        flags=OFF,
    )
    assert (worked.finished.exit_code, worked.end, worked.data["tampered"]) == (
        1,
        "TAMPERED",
        ["build.sh"],
    )
    assert "changed files that check this project" in worked.result["text"]
    assert not (bench.project.root / "late.txt").exists()
