"""The agent loop: a model uses tools until it finishes or a limit is reached.

toolbox = open_toolbox(run)
result = run_agent(
    run, run.model("player"), toolbox, allow=("read_file", "str_replace", "shell", "final_output"),
    system="…", prompt="…", label="player",
)
if result.finished: ...
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from code_commit.plugin_api import (
    Completion,
    Finish,
    Message,
    Model,
    Opaque,
    Request,
    Run,
    Text,
    ToolCall,
    ToolResult,
)
from code_commit_toolbox.calling import Answer, in_one_line, run_call
from code_commit_toolbox.context import sendable, shortened, tokens_around, tokens_of
from code_commit_toolbox.events import AgentEnded, AgentSaid, ContextShortened, ToolCalled
from code_commit_toolbox.outcome import AgentLimits, AgentResult, CalledTool, End, Turn
from code_commit_toolbox.repetition import NOTE, NOTICED, Repetition
from code_commit_toolbox.tool import Seen, Tool, ToolContext
from code_commit_toolbox.toolbox import Toolbox
from code_commit_toolbox.tools.final_output import FINAL_OUTPUT
from code_commit_toolbox.transcript import Transcript, answered

_CONTINUE = "Continue."
_ERROR_SHOWN = 500  # characters of an error in an event
_UNUSABLE_AT_MOST = 3  # replies in a row
_KEPT_WHEN_SHORTENED = 0.5  # fraction of the context
_PLAUSIBLE = (0.3, 3.0)  # times the estimate; counts of a service outside this range are ignored


def run_agent(
    run: Run,
    model: Model,
    toolbox: Toolbox,
    *,
    allow: Sequence[str],
    prompt: str,
    shared: str = "",
    system: str = "",
    history: Sequence[Message] = (),
    seen: Seen | None = None,
    transcript: Path | None = None,
    limits: AgentLimits | None = None,
    label: str = "agent",
    on_turn: Callable[[Turn], None] | None = None,
    on_call: Callable[[CalledTool], None] | None = None,
    on_text: Callable[[str], None] | None = None,
) -> AgentResult:
    """Let `model` work on `prompt` with the tools in `allow` and no others.

    The calls of a reply run in order and are answered in one message. The loop ends when
    `final_output` is called, when a reply has no call, or for another reason in `End`. `history` is
    a conversation to continue, from an earlier result or a transcript; with an empty `prompt`, the
    model only continues. `seen` has the files as the model knows them from there, and is kept up to
    date; see `ToolContext`. `transcript` is a file of this run that has `history`: the conversation
    is added to it, instead of a copy in a new file. `shared` is text before the prompt with which
    other conversations with the same `system` and tools begin, too, so that services read it from
    their caches. `label` names the calls and the transcript in the run folder. `on_text` gets the
    text of each reply before its calls run, `on_call` and `on_turn` get finished calls and turns;
    all are unredacted.

    Raises:
        NotReady: a tool in `allow` does not exist.
        LimitReached, ProviderFailed, ResponseRefused: from the host; they end a run, and the
            transcript is kept.
    """
    tools = toolbox.only(allow)
    limits = limits or AgentLimits.of(toolbox.settings)
    earlier = answered(history)
    recording = Transcript(
        run,
        label=label,
        model=model.name,
        system=system,
        tools=list(tools),
        continues=transcript,
        length=len(earlier),
    )
    if not transcript:
        recording.add(*earlier)
    agent = _Agent(
        run=run,
        model=model,
        tools=tools,
        system=system,
        limits=limits,
        label=label,
        transcript=recording,
        output_limit=toolbox.settings.output_limit,
        seen={} if seen is None else seen,
        on_call=on_call,
        on_text=on_text,
        messages=[*earlier],
        sent=[*earlier],
    )
    texts = [Text(shared, cache_here=True)] if shared else []
    if prompt or not shared:
        texts.append(Text(prompt or _CONTINUE))
    agent.add(Message("user", tuple(texts)))
    with run.span("toolbox.agent", label=label):
        while agent.end is None:
            with run.span("toolbox.turn", number=agent.turns + 1):
                turn = agent.turn()
            if turn is not None and on_turn is not None:
                on_turn(turn)
        result = agent.result(agent.end)
    recording.end(result.end.value, result.text)
    run.emit(
        AgentEnded(
            agent=label,
            end=result.end.value,
            turns=result.turns,
            tokens=result.tokens,
            transcript=recording.file.name,
            text=result.text,
        )
    )
    return result


@dataclass(slots=True)
class _Agent:
    """A running conversation. `messages` is all of it, `sent` is the shortened form."""

    run: Run
    model: Model
    tools: dict[str, Tool]
    system: str
    limits: AgentLimits
    label: str
    transcript: Transcript
    output_limit: int
    seen: Seen
    on_call: Callable[[CalledTool], None] | None
    on_text: Callable[[str], None] | None
    messages: list[Message] = field(default_factory=list)
    sent: list[Message] = field(default_factory=list)
    end: End | None = None
    text: str = ""
    turns: int = 0
    tokens: int = 0
    tampered: tuple[str, ...] = ()
    _began: float = field(default_factory=time.monotonic)
    _scale: float = 1.0  # tokens counted by the service per estimated token
    _unusable: int = 0
    _repetition: Repetition = field(default_factory=Repetition)

    def add(self, *messages: Message) -> None:
        """Add to the conversation and the transcript."""
        self.messages += messages
        self.sent += messages
        self.transcript.add(*messages)

    def turn(self) -> Turn | None:
        """Call the model once and run the calls of its reply.

        Return None if a limit is reached before the call.
        """
        self.end = self._limit_reached() or self._make_room()
        if self.end is not None:
            return None
        self.turns += 1
        specs = tuple(tool.spec for tool in self.tools.values())
        request = Request(sendable(self.sent), system=self.system, tools=specs)
        with self.run.baseline():
            completion = self.model.complete(request, label=self.label)
        self._count(request, completion)
        self.text = completion.text.strip() or self.text
        if completion.text.strip():
            self.run.emit(AgentSaid(self.label, completion.text))
            if self.on_text is not None:
                self.on_text(completion.text)
        called = self._take(completion)
        return Turn(self.turns, completion.text, called)

    def result(self, end: End) -> AgentResult:
        """Return the result."""
        return AgentResult(
            end=end,
            text=self.text,
            turns=self.turns,
            tokens=self.tokens,
            messages=tuple(self.messages),
            transcript=self.transcript.file,
            tampered=self.tampered,
        )

    # --- before a call

    def _limit_reached(self) -> End | None:
        if self.turns >= self.limits.turns:
            return End.OUT_OF_TURNS
        if self.tokens >= self.limits.tokens:
            return End.OUT_OF_TOKENS
        if time.monotonic() >= self._deadline:
            return End.OUT_OF_TIME
        return None

    def _make_room(self) -> End | None:
        """Leave old results out of a request that exceeds the settings or the model's window."""
        around = tokens_around(self.system, [tool.spec for tool in self.tools.values()])
        window = self.model.window or math.inf
        limit = min(self.limits.context_tokens, window)
        at_most = int(limit / self._scale) - around
        enough = int(limit * _KEPT_WHEN_SHORTENED / self._scale) - around
        before = tokens_of(self.sent)
        self.sent = list(shortened(self.sent, at_most=at_most, enough=enough))
        after = tokens_of(self.sent)
        if after < before:
            self.run.emit(ContextShortened(self.label, before, after))
        if after <= at_most:
            return None
        # The host refuses a first prompt that exceeds the window, and names its largest parts.
        is_first = all(message.role == "user" for message in self.sent)
        return None if is_first and after + around > window else End.CONTEXT_FULL

    @property
    def _deadline(self) -> float:
        return self._began + self.limits.seconds

    # --- after a call

    def _count(self, request: Request, completion: Completion) -> None:
        estimate = tokens_of(request.messages) + tokens_around(request.system, request.tools)
        usage = completion.usage
        if usage.input:
            least, most = _PLAUSIBLE
            self._scale = min(max(usage.input / estimate, least), most)
        self.tokens += estimate if usage.input is None else usage.input
        if usage.output is None:
            self.tokens += tokens_of([completion.message])
        else:
            self.tokens += usage.output

    def _take(self, completion: Completion) -> tuple[CalledTool, ...]:
        calls = completion.tool_calls
        is_complete = completion.finish in {Finish.STOP, Finish.TOOL_CALLS}
        is_paused = completion.finish is Finish.PAUSED and not calls
        is_usable = is_complete and (calls or completion.text.strip())
        if not is_paused and not is_usable:
            self._send_back(completion)
            return ()
        self._unusable = 0
        if completion.message.parts:
            self.add(completion.message)  # unchanged, with thinking
        if calls:
            return self._run_calls(calls)
        if is_complete:
            self.end = End.FINISHED
        return ()

    def _send_back(self, completion: Completion) -> None:
        """Tell the model why its reply is unusable. Its calls may be truncated, so none runs."""
        self._unusable += 1
        if self._unusable == _UNUSABLE_AT_MOST:
            self.end = End.UNUSABLE
        reason = _unusable(completion)
        # Thinking alone is not a message.
        if any(not isinstance(part, Opaque) for part in completion.message.parts):
            self.add(completion.message)
        results = tuple(
            ToolResult(call.id, call.name, f"Not run: {reason}", is_error=True)
            for call in completion.tool_calls
        )
        self.add(Message("user", results or (Text(f"[{reason}]"),)))

    def _run_calls(self, calls: Sequence[ToolCall]) -> tuple[CalledTool, ...]:
        """Run the calls of one reply and answer them in one message."""
        repeated = self._repetition.count(calls)
        if repeated > NOTICED:
            self.end = End.REPEATED
        results: list[ToolResult] = []
        called: list[CalledTool] = []
        failed = False
        for call in calls:
            answer = self._answer(call, failed=failed)
            failed = failed or answer.is_error
            results.append(ToolResult(call.id, call.name, answer.text, answer.is_error))
            called.append(self._publish(call, answer))
        if repeated == NOTICED:
            results[-1] = replace(results[-1], text=f"{results[-1].text}\n{NOTE}")
        self.add(Message("user", tuple(results)))
        return tuple(called)

    def _answer(self, call: ToolCall, *, failed: bool) -> Answer:
        """Run one call, or return why not; `failed` means that an earlier call failed."""
        if self.end is None and time.monotonic() >= self._deadline:
            self.end = End.OUT_OF_TIME
        if self.end is not None:
            return Answer(f"Not run: {self.end.value}.", is_error=True)
        if call.name == FINAL_OUTPUT and failed:
            return Answer(
                "Not accepted: an earlier call failed. Check its result, then continue.",
                is_error=True,
            )
        context = ToolContext(self.run, self._deadline, self.seen)
        answer = run_call(call, self.tools, context, output_limit=self.output_limit)
        if answer.tampered:
            self.end = End.TAMPERED
            self.tampered = answer.tampered
        elif call.name == FINAL_OUTPUT and not answer.is_error:
            self.end = End.FINISHED
            self.text = str((call.arguments or {}).get("summary", ""))
        return answer

    def _publish(self, call: ToolCall, answer: Answer) -> CalledTool:
        self.run.emit(
            ToolCalled(
                agent=self.label,
                tool=call.name,
                call=in_one_line(call),
                is_error=answer.is_error,
                seconds=answer.seconds,
                characters=len(answer.text),
                error=answer.text[:_ERROR_SHOWN] if answer.is_error else None,
            )
        )
        called = CalledTool(
            name=call.name,
            arguments=call.raw or str(call.arguments),
            text=answer.text,
            is_error=answer.is_error,
            seconds=answer.seconds,
            given=call.arguments or {},
        )
        if self.on_call is not None:
            self.on_call(called)
        return called


def _unusable(completion: Completion) -> str:
    if completion.finish is Finish.LENGTH:
        return "your reply was cut off at its length limit; continue in smaller steps"
    if completion.finish in {Finish.STOP, Finish.TOOL_CALLS}:
        return "your reply contained no text and no call; continue, or finish"
    word = completion.finish_detail or completion.finish.value
    return f"your reply ended with {word!r} and cannot be used; try again"
