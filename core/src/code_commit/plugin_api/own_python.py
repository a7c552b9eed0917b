"""Start this Python again. The new process imports nothing from its working directory.

That may be a hostile project. Only flags and the environment decide what Python itself imports
before our code runs (`sitecustomize`, `encodings`), so no other place names the interpreter.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

from code_commit_workspace import STOP

# Folders from which Python runs code, also in compiled form. A relative one would be in the
# project.
_FOLDERS = ("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONPYCACHEPREFIX")


def python_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs `module` with this Python.

    Pass `python_environment` as its environment.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def isolated_python(*arguments: str) -> list[str]:
    """Return the command of this Python with `arguments`, such as a script.

    It ignores all environment variables for Python and the user's own packages.
    """
    return [sys.executable, "-I", *arguments]


def ask_process(
    command: Sequence[str],
    question: bytes,
    *,
    seconds: float,
    env: Mapping[str, str],
    cwd: str | None = None,
    start_new_session: bool = False,
) -> subprocess.CompletedProcess[bytes]:
    """Run a program of ours with `question` as its stdin; return how it ended, with its output.

    Raises:
        OSError: it could not be started.
        subprocess.TimeoutExpired: it took longer than `seconds`, and was killed.
        Interrupted: a signal came, and it was killed.
    """
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        cwd=cwd,
        start_new_session=start_new_session,
    ) as process:
        try:
            with STOP.child(process.kill):
                stdout, stderr = process.communicate(question, seconds)
        except BaseException:
            process.kill()
            raise
    STOP.check()
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)


def python_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return `environ` for `python_command`: its folders of Python code without relative ones.

    Python looks for those, and for an empty one, in the working directory of the new process.
    """
    environment = dict(environ)
    for name in _FOLDERS:
        if folders := _absolute(environment.pop(name, "")):
            environment[name] = folders
    return environment


def _absolute(folders: str) -> str:
    return os.pathsep.join(filter(os.path.isabs, folders.split(os.pathsep)))
