"""A provider that answers from a recorded run (`--model replay/RUN`)."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from code_commit.plugin_api import (
    Completion,
    Finish,
    LimitReached,
    Message,
    ModelCall,
    NotReady,
    Part,
    ProviderErrorKind,
    ProviderFailed,
    Record,
    RunTexts,
    Text,
    Usage,
    count_of,
    find_run,
    open_run_file,
    parts_from_json,
    read_records,
    request_text,
)
from code_commit_history.past_runs import PastRun, read_run

# Ends the summary of a run that the host refused for a key in a response.
_REFUSED_KEY = "contains an API key"


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A recorded call: its prompt, and a completion or an error.

    `unsent` is whether a limit stopped it. `instead_of` is the number of the failed call in whose
    place it was made.
    """

    number: int
    prompt: str
    completion: Completion | None
    error: str
    error_kind: ProviderErrorKind | None = None
    unsent: bool = False
    instead_of: int | None = None


class ReplayConfig(BaseModel):
    """`model` is the name of the run, as in `code-commit runs`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(min_length=1)


class Recording:
    """A `Provider` that answers from a recorded run.

    `arrivals` are the numbers of calls that were made at once, in the order of their arrival.
    """

    def __init__(
        self,
        name: str,
        calls: tuple[RecordedCall, ...],
        arrivals: tuple[int, ...] = (),
    ) -> None:
        self.name = name
        self._arrivals = arrivals
        self.model = f"replay/{name}"
        self._remaining = list(calls)
        self._count = len(calls)
        self._failed: dict[int, int] = {}  # the recorded number of each failed call
        self._lock = threading.Lock()

    def complete(self, call: ModelCall) -> Completion:
        """Return the next recorded completion for this prompt: threads make calls in any order.

        That of the call with the same number comes first. If no recorded call has this prompt, warn
        and return the next completion.

        Raises:
            ProviderFailed: no recorded call is left, or the recorded call failed.
            LimitReached: a limit stopped the recorded call.
        """
        prompt = request_text(call.request)
        with self._lock:
            if not self._remaining:
                raise ProviderFailed(
                    f"the recorded run {self.name} has only {count_of(self._count, 'call')}",
                    hint="this run differs from the recorded one: use a real model",
                )
            same_prompt = [one for one in self._remaining if one.prompt == prompt]
            same_call = [one for one in same_prompt if one.number == call.number]
            recorded = (same_call or same_prompt or self._remaining)[0]
            self._remaining.remove(recorded)
        if recorded.completion is None:
            self._failed[call.number] = recorded.number
            hint = f"call {recorded.number} of {self.name} failed like this"
            if recorded.unsent:
                raise LimitReached(recorded.error, hint=hint)
            raise ProviderFailed(recorded.error, hint=hint, kind=recorded.error_kind)
        if prompt != recorded.prompt:
            call.warn(f"the prompt of call {call.number} differs from {self.name}")
        return recorded.completion

    def next_arrival(self, numbers: Sequence[int]) -> int:
        """Return which of these calls at once arrived first; the first one if none did."""
        arrived = [number for number in self._arrivals if number in numbers]
        return (arrived or list(numbers))[0]

    def falls_back(self, number: int) -> bool:
        """Return whether another model took over from the failed call `number`."""
        recorded = self._failed.get(number)
        return recorded in [call.instead_of for call in self._remaining if call.instead_of]

    def close(self) -> None:
        """Do nothing: there are no resources to release."""


def recorded_run(config: ReplayConfig, root: Path) -> Recording:
    """Return the recording of the run that `config` names, in the project `root`.

    Raises:
        NotReady: the run does not exist, cannot be read or is not whole.
    """
    folder = find_run(root, config.model)
    require_whole(read_run(folder))
    return load_recording(folder)


def require_whole(run: PastRun) -> None:
    """Check that the log has the responses as they came.

    Raises:
        NotReady: the host refused one for a key, which the log does not have.
    """
    if _REFUSED_KEY in run.summary:
        raise NotReady(
            f"{run.run} was refused because {run.summary}: the log does not have the key, "
            "so it cannot be replayed",
            hint=f"`code-commit runs show {run.run}` shows the run",
        )


def token_of(run: str, root: Path) -> str:
    """Return the token of a recorded run, which its replay uses in prompts, too."""
    for record in read_records(find_run(root, run) / "events.jsonl"):
        if record.kind == "run.started":
            token: str = record.data.get("token", "")
            return token
    return ""


def load_recording(folder: Path) -> Recording:
    """Read the calls of a run.

    Raises:
        NotReady: a file is missing or invalid.
    """
    texts = RunTexts(folder)
    started: dict[int, Record] = {}  # by the number of the call
    calls: list[RecordedCall] = []
    arrivals: list[int] = []
    try:
        for record in read_records(folder / "events.jsonl"):
            if record.kind == "call.started":
                started[record.data["number"]] = record
            elif record.kind == "call.finished":
                call = started[record.data["number"]]
                calls.append(_recorded_call(folder, texts, call, record))
            elif record.kind == "call.arrived":
                arrivals.append(record.data["number"])
        calls.sort(key=lambda recorded: recorded.number)
    except (OSError, AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise NotReady(f"cannot read the recorded run {folder}: {error}") from error
    return Recording(folder.name, tuple(calls), tuple(arrivals))


def _recorded_call(
    folder: Path, texts: RunTexts, started: Record, finished: Record
) -> RecordedCall:
    data = finished.data
    prompt = texts.read(started.data["request"]).decode()
    instead_of = started.data.get("instead_of")
    if data["error"]:
        return RecordedCall(
            data["number"],
            prompt,
            completion=None,
            error=data["error"],
            error_kind=data.get("error_kind"),
            unsent=data.get("cost_usd") == 0 and not data.get("error_kind"),
            instead_of=instead_of,
        )
    parts: tuple[Part, ...]
    if data.get("parts"):
        parts = parts_from_json(json.loads(_text(folder, data["parts"])))
    else:
        parts = (Text(_text(folder, data["response"])),)
    usage = Usage(
        input=data["input_tokens"],
        output=data["output_tokens"],
        cache_read=data["cache_read_tokens"],
        cache_write=data["cache_write_tokens"],
        reasoning=data["reasoning_tokens"],
    )
    completion = Completion(
        Message("assistant", parts),
        finish=_finish(data["finish"], data["finish_detail"]),
        finish_detail=data["finish_detail"],
        usage=usage,
        model=data["model"],
        raw={"replayed": True},
    )
    return RecordedCall(data["number"], prompt, completion, error="", instead_of=instead_of)


def _finish(recorded: str, word: str) -> Finish:
    """Return the recorded finish.

    Older runs have `unknown` for a missing word, and for one that nobody knows.
    """
    if recorded == "unknown":
        return Finish.CUT if word else Finish.STOP
    return Finish(recorded)


def _text(folder: Path, name: str) -> str:
    """Read a file in the run folder, and nothing outside of it.

    The folder may come from the repository.
    """
    with open_run_file(folder, name) as file:
        return file.read().decode()
