"""Chat: the loop of coach and player, with the person as the coach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from code_commit.plugin_api import (
    Message,
    NotReady,
    Outcome,
    ProviderFailed,
    ResponseRefused,
    Result,
    Run,
    StateEntered,
    count_of,
)
from code_commit_planner.agents.changes import files_data, show_diff, show_files
from code_commit_planner.agents.coach_and_player import PLAYER_TOOLS
from code_commit_planner.agents.prompts import CHAT_SYSTEM
from code_commit_planner.agents.watching import work
from code_commit_planner.agents.work_done import Changes
from code_commit_planner.dialog import messages
from code_commit_planner.dialog.answers import YES_OR_NO, ask, is_words, meaning
from code_commit_planner.dialog.models import show_models
from code_commit_planner.dialog.notices import show
from code_commit_planner.dialog.retry import QuitAtError, wants_to_try_again
from code_commit_planner.dialog.text import fill, legible
from code_commit_planner.machine import Event
from code_commit_planner.saved_state import load_json, save_json
from code_commit_toolbox.outcome import AgentResult, End
from code_commit_toolbox.tool import Seen
from code_commit_toolbox.toolbox import Toolbox, open_toolbox
from code_commit_toolbox.transcript import Recorded, read_transcript

_STATE_FILE = "chat.json"


def chat(run: Run) -> Result:
    """Let the player follow the person's instructions, turn by turn, until the person quits.

    The conversation continues from turn to turn. First offer to continue an interrupted one.
    """
    session = _Session(run, open_toolbox(run))
    # A missing key is reported now, not after the first words.
    show_models(run, {"player": run.model("player")})
    history = _offer_to_continue(run)
    if isinstance(history, Event):
        return session.ended(history)
    while True:
        run.emit(StateEntered("prompt"))
        prompt = session.ask(messages.CHAT_NEXT if history else messages.CHAT)
        if prompt is Event.QUIT:
            _forget(run)
        if isinstance(prompt, Event):
            return session.ended(prompt)
        session.turns += 1
        run.emit(StateEntered("player"))
        _remember(run)
        try:
            result = session.work(prompt, history)
        except QuitAtError:  # the next start continues the conversation
            return session.ended(Event.QUIT)
        session.transcript = result.transcript
        if result.turns or result.end is not End.CONTEXT_FULL:
            history = result.messages
        else:  # the next words may fit
            show(run, messages.CHAT_FULL, style="yellow")
        if result.tampered:
            paths = ", ".join(result.tampered)
            message = f"a command changed files that check the project: {paths}"
            return Result(Outcome.NOT_REACHED, message, {"turns": session.turns})


@dataclass(slots=True)
class _Session:
    """A chat with its number of turns. The first one began at the moment `begun`.

    `transcript` has the conversation so far, unless it is None, and `seen` the files as the player
    knows them from this session.
    """

    run: Run
    toolbox: Toolbox
    begun: str = ""
    turns: int = 0
    transcript: Path | None = None
    seen: Seen = field(default_factory=dict)

    def ask(self, question: str) -> str | Event:
        """Return the person's words, or how they end the chat."""
        run = self.run
        while True:
            answer = run.ask(question, choices=("diff", "quit"), draft="")
            event = meaning(answer)
            if event is Event.QUIT or event is Event.INPUT_ENDED:
                return event
            if answer is None or not answer.strip():
                continue
            if answer.strip().casefold() == "diff":
                self._show_diff()
            elif event is None and not is_words(answer):  # a wrong key
                show(run, messages.NOT_UNDERSTOOD, choices="in your own words, 'diff' or 'quit'")
            else:
                return answer

    def work(self, prompt: str, history: Sequence[Message]) -> AgentResult:
        """Let the player work; after an error of the service, ask whether to try again.

        Raises:
            ProviderFailed, ResponseRefused: the person does not want to.
            QuitAtError: the person quit.
        """
        run = self.run
        self.begun = self.begun or run.moment()
        while True:
            try:
                return work(
                    run,
                    self.toolbox,
                    "player",
                    allow=(*PLAYER_TOOLS, *self.toolbox.added),
                    system=fill(CHAT_SYSTEM, codepath=legible(str(run.root))),
                    prompt=prompt,
                    history=history,
                    seen=self.seen,
                    transcript=self.transcript,
                )
            except (ProviderFailed, ResponseRefused) as error:
                self.transcript = None
                if not wants_to_try_again(run, error):
                    raise
                if (interrupted := _interrupted_chat(run)) is not None:
                    history = interrupted[1].messages
                    prompt = ""

    def ended(self, event: Event) -> Result:
        """Show the changed files, and return the result of a chat that the person ended."""
        changes = self._changes()
        files = changes.files if changes else ()
        show_files(self.run, files)
        data = {"turns": self.turns, "files": files_data(files)}
        if event is Event.QUIT:
            return Result(Outcome.REACHED, f"quit after {count_of(self.turns, 'turn')}", data)
        return Result(Outcome.NOT_REACHED, fill(messages.INPUT_ENDED, state="prompt"), data)

    def _show_diff(self) -> None:
        if (changes := self._changes()) is None:
            show(self.run, messages.NOTHING_CHANGED)
        else:
            show_diff(self.run, changes)

    def _changes(self) -> Changes | None:
        """Return what the player changed; None before the first turn."""
        if not self.begun:
            return None
        return Changes(self.run, self.run.changes_since(self.begun))


def _offer_to_continue(run: Run) -> Sequence[Message] | Event:
    """Return the messages of an interrupted chat that the person continues.

    If they end the run instead, return the event.
    """
    interrupted = _interrupted_chat(run)
    if interrupted is None:
        return ()
    name, recorded = interrupted
    run.emit(StateEntered("recovery"))
    choice = ask(run, fill(messages.CHAT_RESUME, when=name), YES_OR_NO)
    if choice is Event.YES:
        return recorded.messages  # the next start offers it again until the player works
    if choice is Event.NO:
        _forget(run)
        return ()
    return choice


def _remember(run: Run) -> None:
    """Record that a conversation is in progress in this run's folder."""
    save_json(run.state / _STATE_FILE, {"run": run.folder.name})


def _forget(run: Run) -> None:
    (run.state / _STATE_FILE).unlink(missing_ok=True)


def _interrupted_chat(run: Run) -> tuple[str, Recorded] | None:
    """Return the name and the conversation of an interrupted chat."""
    name = load_json(run.state / _STATE_FILE, lambda fields: str(fields["run"]))
    if name is None:
        return None
    try:
        transcripts = run.find_run(name).glob("player-transcript*.jsonl")
        return name, read_transcript(max(transcripts, key=_number))
    except (OSError, ValueError, KeyError, TypeError, NotReady):
        return None


def _number(transcript: Path) -> int:
    """Return a transcript's number.

    Later ones of a run end in `-2`, `-3`, ..., and contain the whole conversation.
    """
    number = transcript.stem.rpartition("-")[2]
    return int(number) if number.isdecimal() else 1
