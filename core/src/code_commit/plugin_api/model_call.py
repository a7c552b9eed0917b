"""One call of a model, as layers and providers see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from code_commit.plugin_api.conversation import Completion, Request


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call: what is asked, of whom, for which role of the workflow, and until when.

    `label` and `number` name it in the run folder. `deadline` is on the clock of `time.monotonic()`. `wait(seconds)`
    waits, and raises `Interrupted` as soon as the run is ended. `warn(text)` shows a person a warning and logs it.
    """

    request: Request
    label: str
    role: str
    provider: str
    model: str
    number: int
    root: Path
    deadline: float
    wait: Callable[[float], None] = field(repr=False)
    warn: Callable[[str], None] = field(repr=False)


NextLayer = Callable[[ModelCall], Completion]
ModelLayer = Callable[[ModelCall, NextLayer], Completion]
"""Handles a call itself, or hands it on to `next` and gives what comes back, as transports of httpx do."""
