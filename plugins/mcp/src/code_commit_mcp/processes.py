"""Run a command line of `code-commit` as a separate process, and read its output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process

from code_commit.plugin_api import (
    STOP,
    ExitCode,
    describe,
    python_command,
    python_environment,
    signalled_at_our_end,
)

_KEPT = 8192  # bytes of stderr
# Seconds for a run to end after an interruption: it restores files and writes its log.
_GRACE = 30.0

OnEvent = Callable[[Mapping[str, Any]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Printed:
    """What a command printed: a JSON document, for a run its last event, and the end of stderr."""

    exit_code: int
    document: Any
    stderr: str


async def run_command(argv: Sequence[str], root: Path, on_event: OnEvent | None) -> Printed:
    """Run `code-commit` with `argv` in `root`. With `on_event`, pass on each event that it prints.

    A cancellation interrupts the process as Ctrl-C does, and waits for its end. So does the end of
    our own process, on Linux.
    """
    try:
        process = await anyio.open_process(
            [*signalled_at_our_end(signal.SIGINT), *python_command("code_commit", *argv)],
            stdin=subprocess.DEVNULL,
            cwd=root,
            env=python_environment(os.environ),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:  # too long for a command line, or with a zero byte
        reason = f"code-commit cannot be started with these arguments: {describe(error)}"
        return Printed(ExitCode.USAGE, None, f"error: {reason}")
    stderr = bytearray()
    document: Any = None
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_keep_end, process, stderr)
            async for line in _lines(process, whole=on_event is None):
                document = json.loads(line)
                if on_event:
                    await on_event(document)
        await process.wait()
    finally:
        with anyio.CancelScope(shield=True), STOP.hold():
            await _end(process)
    return Printed(process.returncode or 0, document, stderr.decode("utf-8", "replace"))


async def _lines(process: Process, *, whole: bool) -> AsyncIterator[bytes]:
    """Yield the lines of stdout; with `whole`, all of it at once."""
    assert process.stdout
    pieces: list[bytes] = []  # of a line that has not ended
    async for chunk in process.stdout:
        if whole:
            pieces.append(chunk)
            continue
        *lines, begin = chunk.split(b"\n")
        for line in lines:
            yield b"".join((*pieces, line))
            pieces = []
        pieces.append(begin)
    if text := b"".join(pieces):
        yield text


async def _keep_end(process: Process, end: bytearray) -> None:
    assert process.stderr
    async for chunk in process.stderr:
        end += chunk
        del end[:-_KEPT]


async def _end(process: Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        with anyio.move_on_after(_GRACE):
            await process.wait()
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
    await process.aclose()
