"""Other processes of the user cannot read our memory."""

from __future__ import annotations

import subprocess
import sys

import pytest

# PR_GET_DUMPABLE of prctl(2) is 3.
CODE = """
import ctypes, sys
from code_commit.run.ptrace import disable_ptrace
dumpable = [ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)]
for sys.platform in ("darwin", sys.platform):
    disable_ptrace()
    dumpable.append(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
print(dumpable)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="prctl(2) is a call of Linux")
def test_only_linux_can_keep_a_process_from_being_traced():
    completed = subprocess.run([sys.executable, "-c", CODE], capture_output=True, check=True)
    assert completed.stdout == b"[1, 1, 0]\n"
