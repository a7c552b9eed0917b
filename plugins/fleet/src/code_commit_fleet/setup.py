"""`fleet setup`: run the setup command of a unit in its project, isolated.

A unit calls it; people can too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from code_commit.plugin_api import ExitCode, Host, NotReady

_LIMIT = 64 * 1024  # bytes of a command
_SECONDS = 7 * 86400.0  # the unit's own limit ends it earlier


def setup(host: Host, arguments: argparse.Namespace) -> int:
    """Run the command on stdin. If it fails, print its last lines on stderr, or how it ended.

    Raises:
        NotReady: the sandbox does not work here, and is not turned off.
    """
    command = sys.stdin.read(_LIMIT)
    with (
        host.workspace(writes=True, processes=True) as project,
        tempfile.TemporaryDirectory() as folder,
    ):
        # A unit passes "auto" where nobody chose; it leaves the setting.
        if arguments.sandbox != "auto":
            project.sandbox = replace(project.sandbox, mode=arguments.sandbox)
        log = Path(folder) / "setup.txt"
        result = project.run_command(
            ["bash", "-c", command], log=log, timeout=_SECONDS, isolation_required=True
        )
    if result.passed:
        return ExitCode.REACHED
    for line in result.last_lines(20).splitlines() or [f"the setup command {result.ending}"]:
        host.out.note(line)
    if result.tampered:
        raise NotReady(f"the setup command altered {', '.join(result.tampered)}")
    return ExitCode.NOT_REACHED
