"""Run the code of an answer: return its value, or an error message for the model."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any, Literal

from code_commit.plugin_api import NotReady, count_of, describe_ending
from code_commit_tasks.runtime.process import DenoProcess, ProcessOverLimit, ProcessTooSlow

_MARK = b"\x1e"  # starts a line of the bridge
_MEDIA_TYPE = "data:application/typescript;base64,"
# Exposes the function to the bridge; a line of its own keeps the answer's line numbers.
_EXPORT = (
    '\n;Object.defineProperty(globalThis, Symbol.for("agent_code"), '
    '{ value: typeof agent_code === "function" ? agent_code : undefined });\n'
)
# The first line: if the answer calls its function itself, this is the only call. The line fails if
# the name is no function yet, or does not exist.
_ONCE = 'globalThis[Symbol.for("agent_code.once")]'
_CALL_ONCE = f"try {{ agent_code = {_ONCE}(agent_code); }} catch {{}}\n"
# A constant cannot be replaced, so it gets another name, of the same length.
_CALL_CONSTANT_ONCE = f"var agent_code = {_ONCE}((...values) => agent$code(...values));\n"
_CONSTANT = re.compile(
    r"^([^\S\n]*+(?:export\s++)?(?:const|let|var)\s++)agent_code\b", re.MULTILINE
)
_OWN_CALL = re.compile(r"\bagent_code\s*\(")
_LINE = re.compile(r"(?<=agent_code\.ts:)\d+")
_ADDRESS = re.compile(r"data:application/typescript;base64,[A-Za-z0-9+/=.]*")
_BRIDGE = "/bridge.js:"  # marks a frame of the bridge, which is left out
_PLACE = re.compile(r":(\d+):\d+\s*$")  # a line and a column
_OUT_OF_MEMORY = re.compile(r"out of memory|heap limit|allocation failed", re.IGNORECASE)
_ABORTED = (-5, -6, -11)  # signals when V8 aborts
_WROTE = -25  # SIGXFSZ: it wrote to a file
_LONGEST_REASON = 4000  # characters
_LONGEST_NAME = 100  # characters: no tool name is longer
_SHOWN = 200  # bytes of an invalid line
_DEEPEST = 100  # nesting of lists
_MEGABYTE = 1024 * 1024

Fault = Literal["code", "time", "memory", "ended"]


@dataclass(frozen=True, slots=True)
class ScriptFunction:
    """A function that the code can call.

    `parameters` are in order; with `json`, it returns JSON instead of text.
    """

    name: str
    parameters: tuple[str, ...]
    json: bool = False


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """The result of a call; `is_error` rejects its promise."""

    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ScriptLimits:
    """`seconds` limits the code itself, without the time of calls; `memory` is in bytes."""

    seconds: float
    memory: int
    calls: int


class ScriptFailed(Exception):  # noqa: N818 - the name of an event
    """The code returned nothing. The message is for the model."""

    def __init__(self, message: str, fault: Fault) -> None:
        super().__init__(message)
        self.fault = fault


Call = Callable[[str, Any], CallAnswer]
"""Checks and runs one call, given the unchecked name and arguments from the code."""


def run_script(
    code: str,
    functions: Sequence[ScriptFunction],
    call: Call,
    limits: ScriptLimits,
    *,
    on_output: Callable[[str], None] = lambda _: None,
) -> Any:
    """Run `code` and return the result of its function `agent_code` as JSON.

    `on_output` receives each printed line.

    Raises:
        ScriptFailed: the code did not parse, threw, exited, or took too long or too much memory.
        NotReady: Deno is not installed, or does not start.
    """
    with DenoProcess(memory=limits.memory, seconds=limits.seconds) as process:
        try:
            exchange = _Exchange(
                process=process,
                code=code,
                functions=functions,
                call=call,
                limits=limits,
                on_output=on_output,
            )
            return exchange.returned()
        except ProcessTooSlow:
            raise ScriptFailed(
                f"agent_code took longer than {limits.seconds:g} s, "
                "without the time of tools, and was stopped.",
                "time",
            ) from None
        except ProcessOverLimit as error:
            raise ScriptFailed(f"agent_code was stopped: {error}.", "memory") from None


@dataclass(slots=True)
class _Exchange:
    """The messages between the host and one process."""

    process: DenoProcess
    code: str
    functions: Sequence[ScriptFunction]
    call: Call
    limits: ScriptLimits
    on_output: Callable[[str], None]
    _calls: int = 0
    _started: bool = False

    def returned(self) -> Any:
        """Answer the calls of the code until it returns a value; return this value."""
        for line in self.process.lines():
            printed, mark, message = line.partition(_MARK)
            if printed or not mark:
                self.on_output(printed.decode("utf-8", "replace"))
            match _read(message) if mark else None:
                case {"kind": "ready"} if not self._started:
                    self._begin()
                case {"kind": "call", "id": int(number), "tool": str(tool), "given": argument}:
                    self._answer(number, tool, argument)
                case {"kind": "returned", **members}:
                    value = members.get("value")
                    if reason := _rejection(value):
                        raise ScriptFailed(f"The value that agent_code returned {reason}.", "code")
                    return value
                case {"kind": "failed", **members}:
                    raise ScriptFailed(_describe_error(members, self.code), "code")
                case None:
                    pass
                case _:  # forged: the bridge sends no such message
                    text = message[:_SHOWN].decode("utf-8", "replace")
                    self.on_output(f"(invalid message: {text})")
        raise self._ended()

    def _begin(self) -> None:
        self._started = True
        self.process.bind()
        source = (_called_once(self.code) + _EXPORT).encode("utf-8", "replace")
        address = _MEDIA_TYPE + base64.b64encode(source).decode()
        functions = [asdict(function) for function in self.functions]
        self._send({"answer": address, "functions": functions})

    def _answer(self, number: int, tool: str, argument: Any) -> None:
        self._calls += 1
        if self._calls > self.limits.calls:
            most = count_of(self.limits.calls, "tool call")
            raise ScriptFailed(f"agent_code made more than {most} and was stopped.", "ended")
        began = time.monotonic()
        if reason := _rejection([tool, argument]):
            answer = CallAnswer(f"The value passed to the tool {reason}.", is_error=True)
        else:
            answer = self.call(tool[:_LONGEST_NAME], argument)
        self.process.deadline += time.monotonic() - began
        member = "error" if answer.is_error else "text"
        self._send({"id": number, member: answer.text})

    def _send(self, message: dict[str, Any]) -> None:
        self.process.send(json.dumps(message).encode())

    def _ended(self) -> ScriptFailed:
        code = self.process.exit_code
        stderr = self.process.stderr
        if not self._started:
            raise NotReady(
                f"Deno {describe_ending(code)} before it started: "
                f"{stderr.strip()[-_LONGEST_REASON:]}",
                hint="reinstall it: pip install --force-reinstall deno",
            )
        if "await promise never resolved" in stderr:
            return ScriptFailed(
                "agent_code waits for a promise that cannot settle any more, so it was stopped.",
                "ended",
            )
        if code in _ABORTED or _OUT_OF_MEMORY.search(stderr):
            memory = self.limits.memory // _MEGABYTE
            return ScriptFailed(
                f"agent_code was stopped: it used more than {memory} MB of memory.", "memory"
            )
        if code == _WROTE:
            return ScriptFailed(
                "agent_code was stopped: it wrote to disk, which is only allowed with tools.",
                "ended",
            )
        text = f"The process of agent_code {describe_ending(code)} before the function returned."
        if words := _shown(stderr).strip():
            text += f"\n{words}"
        return ScriptFailed(text, "ended")


def _called_once(code: str) -> str:
    """Return code with one more line in front, by which the function runs at most once."""
    if _CONSTANT.search(code) and _OWN_CALL.search(code):
        return _CALL_CONSTANT_ONCE + _CONSTANT.sub(r"\1agent$code", code, count=1)
    return _CALL_ONCE + code


def _read(message: bytes) -> Any:
    try:
        value = json.loads(message, parse_constant=_refuse)
    except RecursionError:
        raise ScriptFailed("A value from agent_code is nested too deeply.", "code") from None
    except ValueError:
        return ""
    return "null" if value is None else value


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not valid in JSON")


def _rejection(value: Any) -> str:
    """Return why `value` is rejected: it is too deep, or has a lone surrogate. Else return ""."""
    level = [value]
    for _ in range(_DEEPEST):
        if not level:
            return ""
        below: list[Any] = []
        for member in level:
            if isinstance(member, str):
                if _has_surrogate(member):
                    return "contains a lone surrogate"
            elif isinstance(member, dict):
                below += chain(member, member.values())
            elif isinstance(member, list):
                below += member
        level = below
    return f"is nested more than {_DEEPEST} levels deep"


def _has_surrogate(text: str) -> bool:
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _describe_error(failed: Mapping[Any, Any], code: str) -> str:
    """Describe an error of the code for the model, with the code's own lines and columns."""
    text = _valid_text(failed.get("text", ""))
    if "SyntaxError:" in text:
        text = text.removeprefix("TypeError: ")
    lines = code.split("\n")
    place = _PLACE.search(_shown(text))
    # The error is in the added line: the code ends too early.
    if place and int(place[1]) > len(lines):
        message, _, _ = text.partition("\n")
        return f"{message}\n    at agent_code.ts:{len(lines)}:{len(lines[-1]) + 1}, its end"
    if not place:
        stack = _valid_text(failed.get("stack", ""))
        frames = [line for line in stack.split("\n") if line.lstrip().startswith("at ")]
        text = "\n".join([text, *frames])
    return _shown(text).strip()


def _valid_text(value: object) -> str:
    """Return a text without lone surrogates."""
    return str(value).encode("utf-8", "replace").decode()


def _shown(text: str) -> str:
    """Replace the `data:` URL of the answer, which contains all its text, with a short name.

    Count its lines without the one that we put in front.
    """
    text = _ADDRESS.sub("agent_code.ts", text).replace("agent$code", "agent_code")
    lines = _LINE.sub(lambda line: str(max(1, int(line[0]) - 1)), text).split("\n")
    return "\n".join(line for line in lines if _BRIDGE not in line)[:_LONGEST_REASON].rstrip("\n")
