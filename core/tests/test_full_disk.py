"""A disk that is full once the answer has arrived: what was paid for, and the ending, are in the
files all the same.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from code_commit_testing import Project, Reply, ScriptedServer, Stream

# Mounts a small disk at $1, for the command that follows alone; keeps what is on it in $2.
SMALL_DISK = """\
mount -t tmpfs -o size=256k none "$1" || exit 99
disk=$1; kept=$2; shift 2; "$@"; code=$?
cp -r "$disk/." "$kept"; exit $code
"""


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize("stream", ["never", "always"])
def test_a_reply_that_does_not_fit_is_paid_for_and_ends_the_run(tmp_path, stream):
    project = Project.create(tmp_path)
    logs, other_folder = project.root / "logs", tmp_path / "kept"
    logs.mkdir()
    other_folder.mkdir()
    unshare = shutil.which("unshare") or ""
    command = [
        unshare,
        "--map-root-user",
        "--mount",
        "bash",
        "-c",
        SMALL_DISK,
        "-",
        str(logs),
        str(other_folder),
    ]
    if (
        not unshare
        or subprocess.run([*command, "true"], check=False, capture_output=True).returncode
    ):
        pytest.skip("needs to mount a disk")
    reply = Reply("^^^a.txt\n" + "0123456789\n" * 50_000 + "^^^end\n", stream=Stream(piece=1000))
    with ScriptedServer([reply]) as server:
        environ = {
            "OPENAI_API_KEY": "a key for a test",
            "CODE_COMMIT_STREAM": stream,
            **server.environment(),
        }
        run = [
            sys.executable,
            "-P",
            "-m",
            "code_commit",
            "--model",
            "gpt-5",
            "--json",
            "--sandbox",
            "off",
        ]
        environ = project.environment(environ)
        completed = subprocess.run(
            [*command, *run],
            cwd=project.root,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
    events = [json.loads(line) for line in completed.stdout.splitlines()]
    (call,) = [event["data"] for event in events if event["kind"] == "call.finished"]
    assert (call["input_tokens"], call["output_tokens"], call["finish"]) == (10, 5, None)
    assert "No space left on device" in call["error"]
    (document,) = [json.loads(path.read_bytes()) for path in other_folder.glob("*/run.json")]
    assert (
        (document["state"], document["exit_code"])
        == ("finished", completed.returncode)
        == ("finished", 3)
    ), completed.stderr
    assert (document["tokens"]["input"], document["calls"]["failed"]) == (10, 1)
    (written,) = other_folder.glob("*/events.jsonl")
    assert json.loads(written.read_bytes().splitlines()[-1]) == events[-1]
    assert project.read("a.txt") == "old\n"
