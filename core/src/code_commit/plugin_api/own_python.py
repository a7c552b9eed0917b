"""Start this Python again. The new process imports nothing from its working directory.

That may be a hostile project. Only flags and the environment decide what Python itself imports
before our code runs (`sitecustomize`, `encodings`), so no other place names the interpreter.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

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
