"""Use log sinks and model layers once, as a run does, with a record and a call that are samples."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from code_commit import __version__
from code_commit.log.json_lines import data_of
from code_commit.models.plugin_code import run_layer
from code_commit.plugin_api import (
    CodeCommitError,
    Completion,
    Finish,
    Message,
    ModelCall,
    ProviderFailed,
    Record,
    Request,
    RunStarted,
    Text,
    Usage,
)
from code_commit.plugin_api.sync_result import require_sync
from code_commit.threads import Worker
from code_commit_workspace.words import describe

_RUN = "plugins-doctor"  # the name of the run in the samples
_SECONDS = 5.0


def fault_of_sink(sink: Any) -> str:
    """Return how `sink` fails at the first record of a run, or an empty text."""

    def receive(root: Path) -> str:
        try:
            require_sync(sink.receive(_first_record(root)))
        except BaseException as error:  # noqa: BLE001 - a plugin may raise anything
            return f"{type(sink).__name__}.receive failed at its first record: {describe(error)}"
        return ""

    return _in_time(receive, f"{type(sink).__name__}.receive")


def fault_of_layer(layer: Any, distribution: str) -> str:
    """Return how `layer` fails at its first call, or an empty text.

    An error that a run reports in its own words, such as a refused model, is no fault.
    """

    def call(root: Path) -> str:
        try:
            run_layer(_first_call(root), next=_answer, layer=layer, distribution=distribution)
        except ProviderFailed as error:
            return error.message if error.__cause__ else ""
        except CodeCommitError:
            return ""
        except BaseException as error:  # noqa: BLE001 - a plugin may raise anything
            return describe(error)
        return ""

    return _in_time(call, getattr(layer, "__name__", type(layer).__name__))


@dataclass(frozen=True, slots=True)
class SampleModel:
    """An `OtherModel` that calls no service: `SampleModel` is the argument `models` of a hook."""

    name: str
    provider: str = _RUN
    window: int | None = None

    def complete(self, call: ModelCall) -> Completion:
        """Return the answer of the samples."""
        return _answer(call)


def _in_time(use: Callable[[Path], str], what: str) -> str:
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            return Worker(_RUN).call(partial(use, Path(folder)), seconds=_SECONDS)
        except TimeoutError as error:
            return f"{what}: {error}"


def _first_record(root: Path) -> Record:
    folder = f"logs/{_RUN}"
    (root / folder).mkdir(parents=True)
    event = RunStarted(
        workflow=_RUN,
        root=str(root),
        folder=folder,
        token="0" * 16,
        pid=1,
        versions={"code-commit": __version__},
        argv=(),
        commit=None,
    )
    return Record(
        seq=1,
        time=time.time(),
        run=_RUN,
        span=1,
        parent=None,
        kind=event.kind,
        data=data_of(event),
    )


def _first_call(root: Path) -> ModelCall:
    return ModelCall(
        Request((Message("user", (Text("Say hello."),)),)),
        label="query",
        role="default",
        provider=_RUN,
        model=_RUN,
        number=1,
        root=root,
        deadline=float("inf"),
        wait=lambda _seconds: None,
        warn=lambda _text: None,
    )


def _answer(call: ModelCall) -> Completion:
    message = Message("assistant", (Text("Hello."),))
    return Completion(message, Finish.STOP, "stop", Usage(3, 2), call.model, {})
