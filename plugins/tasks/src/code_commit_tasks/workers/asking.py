"""Run a worker, and kill it if it takes too long."""

from __future__ import annotations

import json
import signal
import subprocess
from importlib.resources import files
from typing import Any

from code_commit.plugin_api import (
    ask_process,
    describe_ending,
    isolated_python,
    signalled_at_our_end,
)

_LARGEST_ANSWER = 16 * 1024 * 1024  # bytes


class WorkerTooSlow(Exception):  # noqa: N818 - the name of an event
    """The worker reached the time limit and was killed."""


class WorkerFailed(Exception):  # noqa: N818 - the name of an event
    """The worker returned no answer: it ran out of memory or has a bug."""


def ask_worker(name: str, question: Any, *, seconds: float) -> Any:
    """Send `question` to the worker `name` of this package and return its answer, both as JSON.

    The worker gets an empty environment.

    Raises:
        WorkerTooSlow, WorkerFailed: there is no answer.
    """
    script = str(files("code_commit_tasks.workers") / f"{name}.py")
    try:
        completed = ask_process(
            [
                *signalled_at_our_end(signal.SIGKILL),
                *isolated_python(script, str(int(seconds) + 2)),
            ],
            json.dumps(question).encode(),
            seconds=seconds,
            env={},
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        raise WorkerTooSlow from None
    if completed.returncode or len(completed.stdout) > _LARGEST_ANSWER:
        last = completed.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise WorkerFailed(last or f"it {describe_ending(completed.returncode)}")
    return json.loads(completed.stdout)
