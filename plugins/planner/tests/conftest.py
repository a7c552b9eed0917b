"""A codebase, a server that acts as planner, coach and player, and a person at the command's stdin."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import pytest

from code_commit.plugin_api import ToolCall
from code_commit_testing import Project, RecordedRequest, Reply, ScriptedServer

CONFIG = """
[providers]
default_provider = "openai.default"
planner = "openai.planner"
coach = "openai.coach"
player = "openai.player"
[providers.openai.default]
model = "gpt-5"
[providers.openai.planner]
model = "planner"
base_url = "{url}"
allow_http = true
[providers.openai.coach]
model = "coach"
base_url = "{url}"
allow_http = true
[providers.openai.player]
model = "player"
base_url = "{url}"
allow_http = true
"""
_TIMEOUT = 60.0  # seconds
NEW = "g3-plan/new_requirements.md"
CURRENT = "g3-plan/current_requirements.md"
TODO = "g3-plan/todo.g3.md"
HISTORY = "g3-plan/planner_history.txt"
REFINED = "{{CURRENT REQUIREMENTS}}\nAdd two.\n\nold words\n"
ORIGINAL = "{{ORIGINAL USER REQUIREMENTS -- THIS SECTION WILL BE IGNORED BY THE IMPLEMENTATION}}"
# The section of the person, which the planner drops.
PUT_BACK = f"\n{ORIGINAL}\n\nold words\n"
SUMMARY = "Add two.\nNothing else."
MESSAGE = "Add a second file\n\nAdds two.txt beside one.txt."
APPROVAL = "Well done.\nIMPLEMENTATION_APPROVED"


def called(name: str, **arguments: Any) -> Reply:
    return Reply(tool_calls=(ToolCall(f"call-{name}", name, arguments),))


def writes(path: str, content: str) -> Reply:
    return called("write_file", path=path, content=content)


def done(summary: str = "done") -> Reply:
    return called("final_output", summary=summary)


@dataclass
class Cast:
    """The replies of the models: a list for each role; the last reply repeats."""

    planner: list[Reply] = field(
        default_factory=lambda: [writes(NEW, REFINED), done("I suggest less.")]
    )
    summary: list[Reply] = field(default_factory=lambda: [Reply(SUMMARY)])
    message: list[Reply] = field(default_factory=lambda: [Reply(MESSAGE)])
    player: list[Reply] = field(
        default_factory=lambda: [
            called("todo_write", content="- [x] two\n"),
            writes("two.txt", "2\n"),
            done("two.txt is there"),
        ]
    )
    coach: list[Reply] = field(default_factory=lambda: [done(APPROVAL)])
    requests: dict[str, list[RecordedRequest]] = field(default_factory=lambda: defaultdict(list))
    before: dict[str, Callable[[], None]] = field(default_factory=dict)

    put_back: ClassVar = PUT_BACK
    called = staticmethod(called)
    writes = staticmethod(writes)
    done = staticmethod(done)
    says = staticmethod(Reply)

    def rewind(self) -> None:
        """Restart all replies; the planner adds a line."""
        fresh = Cast()
        self.planner = [writes(NEW, REFINED + "And a thought.\n"), done()]
        self.summary = fresh.summary
        self.message = fresh.message
        self.player = fresh.player
        self.coach = fresh.coach

    def reply(self, request: RecordedRequest) -> Reply:
        part = request.model
        if part == "planner" and not request.json.get("tools"):
            part = "message" if "git commit" in request.prompt else "summary"
        self.requests[part].append(request)
        replies: list[Reply] = getattr(self, part)
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        if part in self.before:
            self.before[part]()  # last: a test that waits for it may replace the replies at once
        return reply


class Person:
    """The person at a run of the command: waits for its questions and answers them."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.events: list[dict[str, Any]] = []

    def until(self, kind: str) -> dict[str, Any]:
        """Read events until one of `kind`, and return its data."""
        assert self.process.stdout
        # Ends a run that waits for an unexpected answer.
        watchdog = threading.Timer(_TIMEOUT, self.process.kill)
        watchdog.start()
        try:
            for line in self.process.stdout:
                self.events.append(json.loads(line))
                if self.events[-1]["kind"] == kind:
                    return self.events[-1]["data"]
        finally:
            watchdog.cancel()
        assert self.process.stderr
        pytest.fail(
            f"the run ended without {kind}: {self.states} {self.process.stderr.read().decode()}"
        )

    def question(self) -> str:
        return self.until("question.asked")["question"]

    def says(self, answer: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{answer}\n".encode())
        self.process.stdin.flush()

    def answers(self, *answers: str) -> list[str]:
        """Answer the next questions, and return them."""
        questions = []
        for answer in answers:
            questions.append(self.question())
            self.says(answer)
        return questions

    def ends(self) -> dict[str, Any]:
        """Close stdin, and return the data of the last event."""
        assert self.process.stdin
        self.process.stdin.close()
        finished = self.until("run.finished")
        assert self.process.wait(60) == finished["exit_code"]
        return finished

    def quits(self) -> dict[str, Any]:
        self.answers("quit")
        return self.ends()

    def until_file(self, path: Path) -> None:
        """Wait until a command of an agent has made a file."""
        for _ in range(6000):
            if path.exists():
                return
            time.sleep(0.01)
        pytest.fail(f"there is no {path}: {self.states}")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(60)

    @property
    def states(self) -> list[str]:
        return [event["data"]["state"] for event in self.events if event["kind"] == "state.entered"]

    def notices(self) -> str:
        return "\n".join(
            event["data"]["text"] for event in self.events if event["kind"] == "planner.told"
        )

    def messages(self) -> list[str]:
        return [event["data"]["text"] for event in self.events if event["kind"] == "message"]


@dataclass
class Codebase:
    """A project in a git repository, and the models that work on it."""

    project: Project
    cast: Cast
    server: ScriptedServer
    # No test here reads the page of a run, which takes a fifth of its time.
    flags: ClassVar = ("--disable-plugin=html",) if find_spec("code_commit_report") else ()
    _running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(
        self,
        *flags: str,
        workflow: tuple[str, ...] = ("--planning",),
        cwd: Path | None = None,
        environ: Mapping[str, str] | None = None,
        cold: bool = False,
    ) -> Person:
        """Start planning here, with --json so that tests can wait for questions."""
        if workflow == ("--planning",):
            workflow = ("--planning", f"--codepath={self.project.root}")
        flags = ("--json", "--sandbox=off", *self.flags, *flags)
        process = self.project.start(*workflow, *flags, cwd=cwd, environ=environ, cold=cold)
        self._running.append(process)
        return Person(process)

    def plan(self, *flags: str, cold: bool = False) -> Person:
        """Start planning and answer git's questions."""
        person = self.start(*flags, cold=cold)
        person.answers("yes")
        return person

    def write(self, path: str, text: str) -> None:
        self.project.write({path: text})

    def read(self, path: str) -> str:
        return self.project.read(path)

    def has(self, path: str) -> bool:
        return (self.project.root / path).exists()

    def plan_files(self) -> set[str]:
        return {path.name for path in (self.project.root / "g3-plan").iterdir()}

    @property
    def history(self) -> str:
        return self.read(HISTORY)

    def status(self) -> list[str]:
        return self._paths("status", "--porcelain", "--untracked-files=all", "-z")

    def committed(self) -> list[str]:
        """The files that the last commit changed."""
        return self._paths("show", "--name-only", "--format=", "--no-renames", "-z", "HEAD")

    def _paths(self, *command: str) -> list[str]:
        completed = subprocess.run(
            ["git", *command],
            cwd=self.project.root,
            env=self.project.environment(),
            check=True,
            capture_output=True,
        )
        return [path for path in os.fsdecode(completed.stdout).split("\0") if path]

    def staged(self) -> set[str]:
        return {*self._paths("diff", "--cached", "--name-only", "--no-renames", "-z")}

    def subjects(self) -> list[str]:
        return self.project.git("log", "--format=%s").splitlines()

    def close(self) -> None:
        for process in self._running:
            process.kill()
            process.wait(60)
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()


@pytest.fixture
def codebase(tmp_path) -> Iterator[Codebase]:
    project = Project.create(tmp_path, files={"one.txt": "1\n"})
    yield from started(project)


@pytest.fixture
def to_review(codebase: Codebase) -> Callable[..., Person]:
    """Plan from new requirements to the review of the staged files."""
    codebase.write(NEW, "old words\n")

    def go(*flags: str, dirty: bool = False) -> Person:
        person = codebase.start(*flags)
        person.answers(*(["yes", "yes"] if dirty else ["yes"]), "", "yes")
        assert "Please review the currently staged files" in person.question()
        return person

    return go


def started(project: Project) -> Iterator[Codebase]:
    # Without git, which takes long to start.
    with (project.root / ".git/config").open("a") as config:
        config.write("[user]\n\tname = Author\n\temail = author@example.org\n")
    cast = Cast()
    with ScriptedServer([cast.reply] * 500) as server:
        project.write({"agent-config/config.toml": CONFIG.format(url=server.url("openai"))})
        codebase = Codebase(project, cast, server)
        try:
            yield codebase
        finally:
            codebase.close()
