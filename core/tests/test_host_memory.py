"""A build runs as the same user as the host, whose memory contains the key; these tests use no
sandbox.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from code_commit_testing import Project, Reply, ScriptedServer

KEY = "sk-canary-0123456789-key7Q"
# Root can read all memory, so these tests drop its capabilities before they start the command.
START = """
import ctypes, os, sys

for capability in range(64):
    ctypes.CDLL(None).prctl(
        24, capability, 0, 0, 0
    )  # PR_CAPBSET_DROP; fails for other users, who need not drop anything
os.execv(sys.executable, [sys.executable, "-m", "code_commit", *sys.argv[1:]])
"""
# Tries every way of the kernel to read the host, and the supervisor, which has no key.
PEEK = """
import ctypes, os


def parent(pid):
    return int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])


supervisor = parent(parent(os.getppid()))  # the build runs apart from it
host = parent(supervisor)
for name, pid in (("supervisor", supervisor), ("host", host)):
    for what in ("environ", "mem"):
        try:
            with open(f"/proc/{pid}/{what}", "rb") as file:
                print(name, what, "open", what == "environ" and b"API_KEY" in file.read())
        except PermissionError:
            print(name, what, "closed")
print(
    "host trace", "open" if ctypes.CDLL(None).ptrace(0x4206, host, 0, 0) == 0 else "closed"
)  # PTRACE_SEIZE
"""


@pytest.mark.skipif(
    not Path("/proc/self/mem").exists(), reason="reads memory in /proc, which only Linux has"
)
def test_a_build_of_the_same_user_cannot_read_the_memory_of_the_host(tmp_path):
    build = f"'{sys.executable}' peek.py > seen.txt\n"
    project = Project.create(tmp_path, files={"a.txt": "old\n", "peek.py": PEEK}, build=build)
    command = [sys.executable, "-c", START, "--model", "gpt-5", "--sandbox", "off"]
    with ScriptedServer([Reply("^^^a.txt\nnew\n^^^end\n")]) as server:
        environ = project.environment({"OPENAI_API_KEY": KEY, **server.environment()})
        completed = subprocess.run(
            command, cwd=project.root, env=environ, capture_output=True, timeout=120, check=False
        )
    assert completed.returncode == 0, completed.stderr
    seen = project.read("seen.txt").splitlines()
    assert seen[0] == "supervisor environ open False"
    assert seen[2:] == ["host environ closed", "host mem closed", "host trace closed"]
