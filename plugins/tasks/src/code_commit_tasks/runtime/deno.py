"""Locate Deno, and build the command that runs it without any permission."""

from __future__ import annotations

import os
import signal
from importlib.resources import files
from pathlib import Path

from code_commit.plugin_api import NotReady, signalled_at_our_end

_MEGABYTE = 1024 * 1024
# No prompts, no remote code, no configuration file that could change how it runs.
_CLOSED = (
    "--no-prompt",
    "--no-remote",
    "--no-npm",
    "--cached-only",
    "--no-config",
    "--no-lock",
    "--no-check",
    "--node-modules-dir=none",
    "--no-code-cache",
    "--quiet",
)


def deno_binary() -> str:
    """Return the path of the Deno that this plugin depends on, and never of another one.

    Raises:
        NotReady: it is missing.
    """
    try:
        from deno import find_deno_bin  # type: ignore[import-untyped]

        binary = str(find_deno_bin())
        usable = os.access(binary, os.X_OK)
    except (ImportError, OSError):  # its message lists folders, which does not help
        usable = False
    if not usable:
        raise NotReady(
            "the task agent needs Deno, which is not installed in the environment of code-commit",
            hint="pip install deno (there are wheels for Linux with glibc, macOS and Windows)",
        )
    return binary


def deno_command(binary: str, *, memory: int) -> list[str]:
    """Return the command that runs the bridge; the heap is limited to `memory` bytes."""
    bridge = Path(str(files("code_commit_tasks.runtime") / "bridge.js"))
    return [
        *signalled_at_our_end(signal.SIGKILL),
        binary,
        "run",
        *_CLOSED,
        f"--v8-flags=--max-old-space-size={memory // _MEGABYTE}",
        str(bridge),
    ]


def deno_environment() -> dict[str, str]:
    """Return the environment of the process: no folder to store files, no graphics card."""
    nowhere = f"{os.devnull}/none"  # not a folder, so not even root can create files below it
    return {
        "DENO_DIR": nowhere,
        "TMPDIR": nowhere,
        "HOME": "/nonexistent",  # Deno looks for .npmrc here
        "DENO_CACHE_DB_MODE": "in-memory",
        "DENO_EMIT_CACHE_MODE": "disable",
        "DENO_NO_PACKAGE_JSON": "1",
        "DENO_WEBGPU_BACKEND": "none",  # a shader can be neither killed nor limited
        "DENO_NO_UPDATE_CHECK": "1",
        "DENO_NO_PROMPT": "1",
        "NO_COLOR": "1",
    }
