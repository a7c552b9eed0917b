"""Which commands of git a run starts, for tests of the plugins in this repository."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from code_commit_testing.command import install_plugin

_LISTENER = """
import sys
from code_commit.plugin_api import hookimpl
from code_commit_workspace.git.process import command_of

def look(event, given):
    if event == "subprocess.Popen" and str(given[0]).endswith("/git"):
        for_sinks = {"--src-prefix="} & set(given[1])
        with open(LOG, "a") as file:
            print("" if for_sinks else command_of(given[1][1:]), file=file)

@hookimpl
def code_commit_secrets():
    return []

sys.addaudithook(look)
"""


def install_git_listener(plugins: Path, log: Path) -> Path:
    """Install a plugin that appends each command to `log`. Return the folder `plugins`."""
    return install_plugin(plugins, "listener", f"LOG = {str(log)!r}\n{_LISTENER}")


def lasting_git_calls(calls: Sequence[str]) -> list[str]:
    """Leave out that a call is made again, which depends on the second of a look."""
    return [call for call, _ in groupby(calls)]
