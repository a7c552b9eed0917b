"""Through the command: a build gets no key of the kernel, and no socket out of its network."""

from __future__ import annotations

from pathlib import Path

import pytest

from code_commit_testing import Project, Reply, ScriptedServer
from code_commit_workspace.process import seccomp

KEY = "sk-canary-0123456789-key7Q"
CHANGE = "^^^a.txt\ngood\n^^^end\n"
BUILD = """
set -e
grep -q 'Seccomp:.2' /proc/self/status
grep -q 'Seccomp:.2' /proc/1/status
if cat /proc/keys; then exit 1; fi
if python3 -c 'import socket; socket.socket(socket.AF_VSOCK)'; then exit 1; fi
python3 -c 'import socket; socket.socket(socket.AF_INET)'
"""


@pytest.mark.usefixtures("bubblewrap")
@pytest.mark.skipif(bool(seccomp.why_unfiltered()), reason=seccomp.why_unfiltered())
@pytest.mark.parametrize("mode", ["auto", "require"])
def test_a_build_finds_the_doors_closed(tmp_path: Path, mode: str) -> None:
    project = Project.create(tmp_path, build=BUILD)
    with ScriptedServer([Reply(CHANGE)]) as server:
        variables = {"OPENAI_API_KEY": KEY, **server.environment()}
        flags = ("--model", "gpt-5", "--repairs", "0", "--sandbox", mode)
        finished = project.command(*flags, environ=variables)

    assert finished.exit_code == 0, finished.stderr
    assert project.read("a.txt") == "good\n"
