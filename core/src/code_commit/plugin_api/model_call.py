"""One call of a model, as layers and providers see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from code_commit.plugin_api.conversation import Completion, Request


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call: what is asked, of which model, for which role of the workflow, and until when.

    `label` and `number` name the call in the run folder. `root` is the project. `deadline` is on the clock of
    `time.monotonic()`; the host sets it below the plugins' layers, where it is still infinite. `wait(seconds)` waits,
    and raises `Interrupted` as soon as the run ends. `warn(text)` logs a warning and shows it to a person.
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
"""The rest of the chain. Give it the call that the layer got; the host refuses any other."""

ModelLayer = Callable[[ModelCall, NextLayer], Completion]
"""Answers a call itself, or passes it to `next` and returns what comes back, as transports of httpx do."""
