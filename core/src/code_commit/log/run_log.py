"""The log of one run: its folder, `events.jsonl`, `run.json`, and the log sinks."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from code_commit.log.json_lines import EventFile, checked_kind, data_of, kind_and_data
from code_commit.log.sinks import Sinks
from code_commit.plugin_api.errors import ExitCode, NotReady
from code_commit.plugin_api.event import (
    Event,
    MessageLogged,
    PluginFailed,
    RunFinished,
    RunStarted,
)
from code_commit.plugin_api.record import LogSink, Record
from code_commit.plugin_api.run_files import DOCUMENT, EVENTS, LOGS, read_records
from code_commit.plugin_api.run_json import BEFORE_WORK, RunDocument
from code_commit.run_folder.json_text import json_document, to_json
from code_commit.run_folder.output_folder import OutputFolder, counted
from code_commit.run_folder.stored_text import StoredTexts
from code_commit_workspace import Redactor
from code_commit_workspace.words import describe

_ROOT_SPAN: tuple[int, int | None] = (1, None)  # its id, and that of the enclosing span


@dataclass(frozen=True, slots=True)
class CallFiles:
    """The files of one model call: the prompt, the response, and the whole reply as JSON.

    `parts` holds the parts of a completion that is more than text, as `parts_to_json` writes them.
    """

    request: str
    response: str
    raw: str
    parts: str


def call_files(number: int | None, label: str) -> CallFiles:
    """Return the names of the files of a call, without the number if `number` is None.

    The prompt of `call_files(1, "initial-query")` is `1-initial-query.txt`, that of
    `call_files(None, "query")` is `query.txt`.
    """
    stem = numbered(number, label)
    return CallFiles(
        request=f"{stem}.txt",
        response=f"{stem}-response.txt",
        raw=f"{stem}-response.json",
        parts=f"{stem}-response-parts.json",
    )


def numbered(number: int | None, name: str) -> str:
    """Return `name` after the number of a call.

    A build shares the number of the call before it: `1-build.txt`.
    """
    if number is None:
        return name
    return f"{number}-{name}"


def failure_text(error: str) -> str:
    """Return the content of the response file of a failed call."""
    return f"ERROR\n{error}\n"


class RunLog:
    """The log of a run. It is thread-safe. Always call `finish`.

    `folder` is the run folder, `run` its name; `token` delimits foreign text in the prompts of this
    run. `document` summarizes the run. `sender` is the plugin whose code runs, and its
    distribution; errors in its events name them. `sink_traces` are the tracebacks of failed sinks,
    `late_failures` their failures after the last event.
    """

    def __init__(
        self,
        root: Path,
        workflow: str,
        *,
        redactor: Redactor,
        token: str = "",
        argv: Sequence[str] = (),
        versions: Mapping[str, str] | None = None,
        commit: str | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """Create the run folder and log `run.started`.

        `commit` is the checked-out commit; `clock` returns seconds since the epoch.

        Raises:
            NotReady: `logs` cannot be written, is a link, or is not a folder.
        """
        offset = time.time() - time.monotonic()
        self._clock = clock or (lambda: offset + time.monotonic())  # never goes back
        self._files = OutputFolder.make(root / LOGS, workflow, at=self._clock())
        self.folder = self._files.path
        self.run = self.folder.name
        self.token = token
        self.redactor = redactor
        self.document = RunDocument()
        self._sinks = Sinks(self._report)
        self.sink_traces = self._sinks.traces
        self._lock = threading.RLock()  # a file that cannot be written is an event of its own
        self.sender: ContextVar[tuple[str, str]] = ContextVar("sender", default=("", ""))
        self._span = ContextVar("span", default=_ROOT_SPAN)
        self._spans = 1
        self._reported_files: set[str] = set()
        self._prompts = StoredTexts()
        self._inputs: dict[str, str | bytes] = {}  # that are written after the next prompt
        self._prompts_lock = threading.Lock()
        self.late_failures: list[PluginFailed] = []
        self._has_begun = self._has_ended = False
        try:
            self._events = EventFile(
                self._files.handle, self.run, redactor=redactor, clock=self._clock
            )
        except OSError as error:
            self._files.close()
            raise NotReady(f"cannot write {self.folder / EVENTS}: {error.strerror}") from error
        self._append_event(
            RunStarted(
                workflow=workflow,
                root=str(root),
                folder=f"{LOGS}/{self.run}",
                token=token,
                pid=os.getpid(),
                versions=dict(versions or {}),
                argv=tuple(argv),
                commit=commit,
            )
        )

    # --- events -----------------------------------------------------------------------------

    def emit(self, event: Event) -> None:
        """Log an event and pass it to the sinks.

        An invalid event is logged as a failure of its plugin.

        Raises:
            RuntimeError: a log sink emits.
        """
        self._emit_safely(lambda: kind_and_data(event, self.sender.get()[0]))

    def add_warning(self, text: str) -> None:
        """Log a warning."""
        self.emit(MessageLogged(text, level="warning"))

    def show(self, event: Event) -> None:
        """Pass an event without keys to the sinks that show what happens now; do not log it."""
        record = Record(
            seq=0,
            time=self._clock(),
            run=self.run,
            span=0,
            parent=None,
            kind=event.kind,
            data=data_of(event),
        )
        self._sinks.put(record, live=True)
        self._sinks.deliver()

    @contextmanager
    def span(self, kind: str, /, **data: Any) -> Iterator[None]:
        """Nest the events of the block between `<kind>.started` and `<kind>.finished`.

        The first one has `data`.
        """
        with self.nested():
            started = self._clock()
            self._emit_safely(lambda: (checked_kind(f"{kind}.started"), to_json(data)))
            error: str | None = None
            try:
                yield
            except BaseException as raised:
                error = describe(raised)
                raise
            finally:
                end = {"seconds": round(self._clock() - started, 3), "error": error}
                self._emit_safely(lambda: (checked_kind(f"{kind}.finished"), end))

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Put the events of the block into a new span, without events for its start and end.

        Use it for pairs such as `call.started` and `call.finished`. The span applies to this
        thread; a thread that runs in a copy of this context (`contextvars.copy_context`) inherits
        it.
        """
        with self._lock:
            self._spans += 1
            inner = self._spans
        outer = self._span.get()
        self._span.set((inner, outer[0]))
        try:
            yield
        finally:
            self._span.set(outer)

    def _emit_safely(self, read: Callable[[], tuple[str, Mapping[str, Any]]]) -> None:
        if self._sinks.delivering_here:
            raise RuntimeError("a log sink must not emit events")
        try:
            kind, data = read()
            self._append(kind, data)
        except Exception as error:  # noqa: BLE001 - reading a plugin's event may raise anything
            self._append_event(self._failure_of_sender("emit", error))
        self._sinks.deliver()

    def _failure_of_sender(self, stage: str, error: Exception) -> PluginFailed:
        plugin, distribution = self.sender.get()
        return PluginFailed(plugin, distribution, stage=stage, error=describe(error))

    def _append_event(self, event: Event) -> None:
        self._append(event.kind, data_of(event))

    def _append(self, kind: str, data: Mapping[str, Any]) -> None:
        span, parent = self._span.get()
        with self._lock:
            if self._has_ended:
                return
            self._has_begun |= kind not in BEFORE_WORK
            record = self._events.record(kind, data, span=span, parent=parent)
            self._has_ended = kind == RunFinished.kind
            is_due = self.document.receive(record)
            self._sinks.put(record)
            if is_due:
                self._write_document()
            if self._events.failure:
                self._report_file(EVENTS, self._events.failure)

    def _write_document(self) -> None:
        try:
            self._files.replace(DOCUMENT, self.document.text().encode())
        except (OSError, ValueError) as error:
            self._report_file(DOCUMENT, error)

    def _report_file(self, name: str, error: Exception) -> None:
        """Warn once per file that the log is incomplete. The run continues."""
        if name in self._reported_files:
            return
        self._reported_files.add(name)
        if self._has_ended:  # `run.finished` stays the last event
            failure = PluginFailed(name, "code-commit", stage="log", error=describe(error))
            self.late_failures.append(failure)
        else:
            text = f"cannot write {self.folder / name}: {error}"
            self._append_event(MessageLogged(text, level="warning"))

    # --- files ------------------------------------------------------------------------------

    def call_files(self, number: int | None, label: str) -> CallFiles:
        """Reserve the names of the files of a call; a label used before gets `-2`.

        Raises:
            ValueError: `label` cannot be part of a file name.
        """
        files = call_files(number, label)
        count = self._files.reserve(files.request, files.response, files.raw, files.parts)
        if count == 1:
            return files
        return call_files(number, f"{label}-{count}")

    def reserve(self, name: str) -> str:
        """Reserve `name`, or a numbered one (`1-build-2.txt`) if it is taken; return it.

        Raises:
            ValueError: it is not a plain name.
        """
        return counted(name, self._files.reserve(name))

    def write(self, name: str, content: str | bytes, *, replaces: bool = False) -> Path:
        """Write a redacted file into the run folder. With `replaces`, replace a file atomically.

        Raises:
            NotReady: it cannot be written.
            ValueError: `name` is not a plain name, or the run log writes that file itself.
        """
        write = self._files.replace if replaces else self._files.write
        return self._write_file(name, self._redacted(content), write)

    def write_prompt(self, name: str, text: str) -> None:
        """Write a redacted prompt. It refers to the lines that files of earlier prompts have.

        Raises:
            NotReady: it cannot be written.
        """
        with self._prompts_lock:
            self._store(name, text)
            self._store_inputs()

    def keep_input(self, name: str, content: str | bytes) -> None:
        """Write a redacted file after the next prompt, whose lines it refers to."""
        with self._prompts_lock:
            self._inputs[name] = content

    def _store_inputs(self) -> None:
        while self._inputs:
            self._store(*self._inputs.popitem())

    def _store(self, name: str, content: str | bytes) -> None:
        self._prompts.store(
            name,
            self._redacted(content),
            lambda name, stored: self._write_file(name, stored, self._files.write),
        )

    def append(self, name: str, content: str | bytes) -> None:
        """Append to a file that `write` created. Each piece is redacted by itself.

        Raises:
            NotReady: it cannot be written.
            ValueError: `name` is not a plain name, or the run log writes that file itself.
        """
        self._write_file(name, self._redacted(content), self._files.append)

    def append_clean(self, name: str, content: bytes) -> None:
        """Append bytes that contain no key to a file. Create the file if it is missing.

        Raises:
            NotReady: it cannot be written.
        """
        self._write_file(name, content, partial(self._files.append, create=True))

    def write_json(self, name: str, value: Any) -> Path:
        """Write a redacted, indented JSON document.

        Raises:
            NotReady: it cannot be written.
            ValueError: as `write`, or `value` is not JSON.
        """
        # Redact before rendering: redacting JSON text could break its quoting.
        text = json_document(self.redactor.json(value)) + "\n"
        return self._write_file(name, text.encode("utf-8", "backslashreplace"), self._files.write)

    def _redacted(self, content: str | bytes) -> bytes:
        if isinstance(content, str):
            return self.redactor.text(content).encode("utf-8", "backslashreplace")
        return self.redactor.data(content)

    def _write_file(
        self,
        name: str,
        content: bytes,
        write: Callable[[str, bytes], None],
    ) -> Path:
        name = self.redactor.text(name)
        if name in {EVENTS, DOCUMENT}:
            raise ValueError(f"{name} is the run log's own file")
        try:
            write(name, content)
        except OSError as error:
            raise NotReady(
                f"cannot write {self.folder / name}: {error.strerror}",
                hint="make it writable, or free some space there",
            ) from error
        return self.folder / name

    # --- sinks and the end ------------------------------------------------------------------

    def add_sink(self, distribution: str, sink: LogSink, *, plugin: str = "") -> None:
        """Add a sink, which receives all records of this run from the first one."""
        with self._lock:
            backlog: list[Record] = []
            with suppress(OSError):
                backlog.extend(read_records(self.folder / EVENTS))
            self._sinks.add(plugin or type(sink).__name__, distribution, sink, backlog)
        self._sinks.deliver()

    def finish(
        self,
        exit_code: ExitCode,
        summary: str,
        data: Mapping[str, Any] | None = None,
        *,
        files: Sequence[Mapping[str, Any]] = (),
        cost_usd: float | None = None,
    ) -> None:
        """Log the last event, write `run.json`, close the sinks. Later events are dropped.

        `files` and `cost_usd` are those of `RunFinished`. A second call does nothing. A run that
        could not begin leaves no folder.
        """
        with self._lock:
            self._span.set(_ROOT_SPAN)
            self._files.free_room()
            with suppress(NotReady), self._prompts_lock:
                self._store_inputs()
            if not self._has_ended:
                tokens = self.document.fields["tokens"]
                end = RunFinished(
                    outcome=exit_code.outcome,
                    exit_code=int(exit_code),
                    summary=summary,
                    files=tuple(map(dict, files)),
                    input_tokens=tokens["input"],
                    output_tokens=tokens["output"],
                    cost_usd=cost_usd,
                    call_costs=dict(self.document.call_costs),
                )
                self._log_end(end, data or {})
        self._sinks.close()
        with self._lock:
            self._events.close()
            self._files.close()
        if exit_code in {ExitCode.NOT_READY, ExitCode.USAGE} and not self._has_begun:
            import shutil

            shutil.rmtree(self.folder, ignore_errors=True)

    def _log_end(self, end: RunFinished, data: Mapping[str, Any]) -> None:
        try:
            self._append(end.kind, {**data_of(end), "data": to_json(data)})
        except Exception as error:  # noqa: BLE001 - the data of a workflow may be anything
            self._append_event(self._failure_of_sender("result", error))
            self._append_event(end)

    def _report(self, failure: PluginFailed) -> None:
        with self._lock:
            if self._has_ended:
                self.late_failures.append(replace(failure, error=self.redactor.text(failure.error)))
            else:
                self._append_event(failure)
        self._sinks.deliver()
