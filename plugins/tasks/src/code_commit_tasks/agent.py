"""One attempt of one agent: call the model, run its code, parse the result.

Attempts share no memory.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from code_commit.plugin_api import (
    Completion,
    Finish,
    LimitReached,
    Message,
    Model,
    PromptPart,
    Request,
    Run,
    Text,
    count_of,
)
from code_commit_tasks.answer import MalformedAnswer, code_of, fences_unpaired
from code_commit_tasks.events import CodeReceived, FunctionCalled
from code_commit_tasks.functions import Functions
from code_commit_tasks.runtime.script import CallAnswer, ScriptFailed, ScriptLimits, run_script
from code_commit_tasks.settings import TasksSettings
from code_commit_tasks.task_list import MalformedTaskList, TaskList, task_list
from code_commit_toolbox.shortening import head_and_tail
from code_commit_toolbox.tool import ProjectTampered, ToolContext

_OUTPUT_KEPT = 256 * 1024  # characters of printed output
_CALL_KEPT = 64 * 1024  # characters of a tool's input and of its answer
_ERROR_SHOWN = 500
# Names of invalid values.
_KINDS = {dict: "an object without steps", list: "an array", type(None): "nothing"}
_BLOCK_ENDS = (
    "\nThe code ended at its first line ```. "
    "If the code contains such lines, use longer fences: ````."
)


class AttemptFailed(Exception):  # noqa: N818 - the name of an event
    """An attempt failed.

    The message is for the model; `malformed` means that the reply or its value was invalid.
    """

    def __init__(
        self,
        reason: str,
        *,
        code: str = "",
        output: str = "",
        malformed: bool = False,
    ) -> None:
        super().__init__(reason)
        self.code = code
        self.output = output
        self.malformed = malformed


@dataclass(frozen=True, slots=True)
class Answer:
    """The value that an agent's code returned, and its printed output.

    `note` is for people, about the value.
    """

    value: str | TaskList
    code: str = field(repr=False)
    output: str = field(repr=False)
    note: str = ""


@dataclass(slots=True)
class AttemptFiles:
    """The files of an attempt in the run folder, once they exist."""

    code: str = ""
    log: str = ""


@dataclass(frozen=True, slots=True)
class Agent:
    """Makes attempts. `deadline` is that of the task, on `time.monotonic()`."""

    run: Run
    model: Model
    functions: Functions
    system: str = field(repr=False)
    settings: TasksSettings
    deadline: float

    def attempt(
        self,
        prompt: tuple[str, str],
        tools: ToolContext,
        *,
        place: str,
        name: str,
        number: int,
        files: AttemptFiles,
    ) -> Answer:
        """Call the model once, and run its code once with `tools`.

        `name` is that of the attempt's files.

        The two texts of `prompt` are the part that all attempts share, and the failure of the
        previous attempt or "".

        Raises:
            AttemptFailed: the reply is not an answer, or its code failed or returned an invalid
                value.
            ProviderFailed, ResponseRefused, LimitReached: from the host.
            ProjectTampered: a command of the code altered files that check the project.
        """
        completion = self._complete(prompt, label=f"step-{place}" if place else "task")
        try:
            code = _code(completion)
        except MalformedAnswer as problem:
            raise AttemptFailed(str(problem), output=completion.text, malformed=True) from None
        work = _Work(self, tools, place, number, self._create_files(name, code, files))
        self.run.emit(CodeReceived(place, number, files.code, files.log))
        try:
            value, note = self._parse_value(work.run_code(code))
        except ScriptFailed as failure:
            self.seconds_left()  # the code is not to blame for the end of the task's time
            reason = str(failure)
            if _ends_early(failure, completion):
                reason += _BLOCK_ENDS
            raise AttemptFailed(reason, code=code, output=work.output) from None
        except MalformedTaskList as problem:
            raise AttemptFailed(
                str(problem), code=code, output=work.output, malformed=True
            ) from None
        return Answer(value, code, work.output, note)

    def _complete(self, prompt: tuple[str, str], *, label: str) -> Completion:
        shared, failure = prompt
        texts = [Text(shared, cache_here=True)]
        if failure:
            texts.append(Text(failure))
        request = Request(messages=(Message("user", tuple(texts)),), system=self.system)
        parts = (
            PromptPart.of("the task with its steps so far", shared),
            PromptPart.of("the output of the last attempt", failure),
        )
        with self.run.baseline():
            return self.model.complete(request, label=label, parts=parts)

    def seconds_left(self) -> float:
        """Return the task's remaining time in seconds.

        Raises:
            LimitReached: no time is left.
        """
        seconds = self.deadline - time.monotonic()
        if seconds <= 0:
            raise LimitReached(
                f"the task has taken {self.settings.max_seconds:g} s",
                hint="raise max_seconds in [plugins.tasks]",
            )
        return seconds

    def _create_files(self, name: str, code: str, files: AttemptFiles) -> Path:
        files.code = self.run.keep(f"{name}.ts", code).name
        log = self.run.keep(f"{name}.jsonl", "")
        files.log = log.name
        return log

    def _parse_value(self, value: Any) -> tuple[str | TaskList, str]:
        if isinstance(value, str):
            self._require_short("The string", value)
            return value, ""
        if isinstance(value, dict) and "steps" in value:
            self._require_short("The TaskList", json.dumps(value, ensure_ascii=False))
            return task_list(value)
        kind = _KINDS.get(type(value)) or repr(value)[:200]
        raise MalformedTaskList(
            f"agent_code returned {kind}; it must return a string or a TaskList."
        )

    def _require_short(self, name: str, text: str) -> None:
        limit = self.settings.result_limit
        if len(text) > limit:
            size = count_of(len(text), "character")
            raise MalformedTaskList(
                f"{name} that agent_code returned has {size}; the limit is {limit:,}. "
                "Write long text to a file."
            )


@dataclass(slots=True)
class _Work:
    """The running code of one answer."""

    agent: Agent
    tools: ToolContext
    place: str
    number: int
    log: Path
    _printed: list[str] = field(default_factory=list)
    _characters: int = 0

    @property
    def output(self) -> str:
        return "\n".join(self._printed)

    def run_code(self, code: str) -> Any:
        agent = self.agent
        seconds = min(agent.settings.script_seconds, agent.seconds_left())
        limits = ScriptLimits(seconds, agent.settings.script_memory, agent.settings.max_calls)
        functions = [function.declared for function in agent.functions.by_name.values()]
        return run_script(code, functions, self._call, limits, on_output=self._print)

    def _call(self, name: str, argument: Any) -> CallAnswer:
        agent = self.agent
        called = agent.functions(self.tools, name, argument)
        answer = called.answer
        agent.run.emit(
            FunctionCalled(
                step=self.place,
                attempt=self.number,
                tool=name,
                call=called.line,
                is_error=answer.is_error,
                seconds=called.seconds,
                characters=len(answer.text),
                error=answer.text[:_ERROR_SHOWN] if answer.is_error else None,
            )
        )
        entry = {
            "call": name,
            "given": _shorten(argument),
            "answer": head_and_tail(answer.text, _CALL_KEPT),
            "is_error": answer.is_error,
        }
        self._log(entry)
        if called.tampered:
            raise ProjectTampered(called.tampered)
        return answer

    def _print(self, line: str) -> None:
        if self._characters > _OUTPUT_KEPT:
            return
        self._characters += len(line) + 1
        if self._characters > _OUTPUT_KEPT:
            line = "[the rest of the output was left out]"
        self._printed.append(line)
        self._log({"printed": line})

    def _log(self, entry: dict[str, Any]) -> None:
        self.agent.run.append(self.log, json.dumps(entry, ensure_ascii=False) + "\n")


def _ends_early(failure: ScriptFailed, completion: Completion) -> bool:
    return str(failure).startswith("SyntaxError") and fences_unpaired(completion.text)


def _shorten(argument: Any) -> Any:
    """Return a tool's input, or head and tail of its JSON if it is long."""
    text = json.dumps(argument, ensure_ascii=False)
    if len(text) <= _CALL_KEPT:
        return argument
    return head_and_tail(text, _CALL_KEPT)


def _code(completion: Completion) -> str:
    if completion.finish is not Finish.STOP:
        raise MalformedAnswer(f"The answer is incomplete: {completion.ending}.")
    return code_of(completion.text)
