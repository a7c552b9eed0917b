"""Events of a run. Plugins may add kinds of events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from code_commit.plugin_api.conversation import Json


@dataclass(frozen=True, slots=True)
class Event:
    """The base of all events: one subclass per kind, with JSON fields.

    The kind of a plugin's own event is `"<plugin>.<name>"`.
    """

    kind: ClassVar[str] = ""


@dataclass(frozen=True, slots=True)
class RunStarted(Event):
    """A run starts.

    `token` delimits untrusted text in this run's prompts; `versions` maps a distribution to its
    version; `commit` is the project's HEAD; `pid` is the process of the run."""

    kind: ClassVar[str] = "run.started"
    workflow: str
    root: str
    folder: str
    token: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    argv: tuple[str, ...] = ()
    commit: str | None = None
    pid: int = 0


@dataclass(frozen=True, slots=True)
class RunFinished(Event):
    """A run ended; always the last event. `outcome` is the name of `exit_code`.

    `files` are the files that the run changed, each with its `path` and the lines `added` and
    `removed`, which are null for a binary file. The tokens and the cost are those of all calls;
    null if unknown. `call_costs` maps the number of a call to its cost, for calls whose
    `call.finished` has none and whose price is known.
    """

    kind: ClassVar[str] = "run.finished"
    outcome: str
    exit_code: int
    summary: str
    data: Json = field(default_factory=dict)
    files: tuple[Json, ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    call_costs: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QueryRead(Event):
    """The workflow read what the user wants; `query` is its first line.

    It names the run in lists.
    """

    kind: ClassVar[str] = "query.read"
    query: str


@dataclass(frozen=True, slots=True)
class ContextChosen(Event):
    """The files of the next prompt, if the model does not see all of them.

    `context` chose them; `reason` says how, in words. `files` are shown whole, best first; `total`
    is how many there are to choose from, and `mapped` how many others the prompt names. `tokens` is
    the estimate for all of it, `cost_usd` its price as input, if that is known. `left_out` has the
    path and the reason of each file that was chosen or asked for, but cannot be shown.

    `cause` is what the choice follows: the "query", the "request" of a response for more files, or
    the "failure" of an attempt.
    """

    kind: ClassVar[str] = "context.chosen"
    context: str
    reason: str
    files: tuple[str, ...]
    total: int
    mapped: int
    tokens: int
    cost_usd: float | None = None
    left_out: tuple[Json, ...] = ()
    cause: Literal["query", "request", "failure"] = "query"


@dataclass(frozen=True, slots=True)
class CallStarted(Event):
    """A model call starts. `request` names the file of the prompt in the run folder.

    `instead_of` is the number of the failed call in whose place it is made.
    """

    kind: ClassVar[str] = "call.started"
    number: int
    label: str
    provider: str
    model: str
    address: str
    key_source: str
    request: str
    instead_of: int | None = None


@dataclass(frozen=True, slots=True)
class CallRetried(Event):
    """A try failed; the next one starts after `wait` seconds."""

    kind: ClassVar[str] = "call.retried"
    number: int
    attempt: int  # the number of the failed try, from 1
    wait: float
    reason: str


@dataclass(frozen=True, slots=True)
class CallProgress(Event):
    """A reply is streaming; at most one event a second for each call.

    `tokens` is an estimate for what has arrived. `seconds` count from the first piece. `thinking`
    is whether the model thinks now; `file` is the file that the text writes now. `printed` is
    whether the text is printed on stdout while it arrives.
    """

    kind: ClassVar[str] = "call.progress"
    number: int
    tokens: int
    characters: int
    seconds: float
    thinking: bool = False
    file: str | None = None
    printed: bool = False


@dataclass(frozen=True, slots=True)
class CallFinished(Event):
    """A model call ended, with `finish` or with `error`.

    Token counts are None when the service did not report them. `response` names the file with the
    text; `parts` names the file with all parts, if the completion is more than text. `error_kind`
    is the kind of a `ProviderError`.
    """

    kind: ClassVar[str] = "call.finished"
    number: int
    label: str
    model: str
    finish: str | None
    finish_detail: str
    seconds: float
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None
    response: str | None = None
    parts: str | None = None
    error: str | None = None
    error_kind: str | None = None


@dataclass(frozen=True, slots=True)
class CallArrived(Event):
    """The workflow takes the end of one of several calls at once, in the order of these events."""

    kind: ClassVar[str] = "call.arrived"
    number: int


@dataclass(frozen=True, slots=True)
class ChangesParsed(Event):
    """A response was parsed: the paths that it would write and delete."""

    kind: ClassVar[str] = "changes.parsed"
    written: tuple[str, ...]
    deleted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChangesRefused(Event):
    """A response was refused; nothing was applied.

    A refusal has path, rule and reason; `reason` summarizes them.
    """

    kind: ClassVar[str] = "changes.refused"
    reason: str
    refusals: tuple[Json, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangesApplied(Event):
    """All changes of a response are on disk.

    `diff` names the file of the diff, written if a plugin has a log sink. A person changed the
    files at `merged`, too: their changes stay.
    """

    kind: ClassVar[str] = "changes.applied"
    written: tuple[str, ...]
    deleted: tuple[str, ...]
    diff: str | None = None
    merged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangesUndone(Event):
    """The files at `paths` were moved back to what they were before the run wrote them.

    Those at `replaced` were changed by somebody else at the same places: `code-commit redo` brings
    these changes back.
    """

    kind: ClassVar[str] = "changes.undone"
    paths: tuple[str, ...]
    reason: str
    replaced: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProcessStarted(Event):
    """A build or a command starts. `sandbox` names the isolation in use, or "off"."""

    kind: ClassVar[str] = "process.started"
    argv: tuple[str, ...]
    sandbox: str
    log: str


@dataclass(frozen=True, slots=True)
class ProcessFinished(Event):
    """A build or a command ended; `exit_code` is None after a signal or the time limit.

    `last_lines` is the end of the output of a build that failed, `ending` is that of the
    `ProcessResult`.
    """

    kind: ClassVar[str] = "process.finished"
    argv: tuple[str, ...]
    exit_code: int | None
    seconds: float
    timed_out: bool
    tampered: tuple[str, ...]
    log: str
    last_lines: str = ""
    ending: str = ""


@dataclass(frozen=True, slots=True)
class AcceptanceChecked(Event):
    """An acceptance check judged a change whose build is green.

    `distribution` is that of the check. `reason` says why it refused, `notes` are lines for people,
    `trailers` are facts for the commit message.
    """

    kind: ClassVar[str] = "acceptance.checked"
    check: str
    distribution: str
    accepted: bool
    reason: str = ""
    notes: tuple[str, ...] = ()
    trailers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StateEntered(Event):
    """A workflow entered a state."""

    kind: ClassVar[str] = "state.entered"
    state: str


@dataclass(frozen=True, slots=True)
class QuestionAsked(Event):
    """An interactive workflow asks the person."""

    kind: ClassVar[str] = "question.asked"
    question: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionAnswered(Event):
    """The person's answer; None at the end of input."""

    kind: ClassVar[str] = "question.answered"
    answer: str | None


@dataclass(frozen=True, slots=True)
class PluginFailed(Event):
    """A plugin failed and is disabled for this run."""

    kind: ClassVar[str] = "plugin.failed"
    plugin: str
    distribution: str
    stage: str
    error: str


@dataclass(frozen=True, slots=True)
class MessageLogged(Event):
    """A message for people."""

    kind: ClassVar[str] = "message"
    text: str
    level: Literal["info", "warning", "error"] = "info"
