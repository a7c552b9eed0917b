"""People and models in the same files, in any order: no line that a person typed is lost."""

from __future__ import annotations

import os
import subprocess
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from code_commit_workspace import Change, NotReady, SandboxSettings, Workspace

EXAMPLES = int(os.environ.get("CODE_COMMIT_PEOPLE_EXAMPLES", "12"))
OLD = "old.txt"
NEW = "new.txt"
BUILT = "built.txt"
BASE = [b"base %d\n" % number for number in range(12)]
places = st.integers(0, len(BASE))
paths = st.sampled_from([OLD, NEW])


class PeopleAndModels(RuleBasedStateMachine):
    """Every line is typed once. A person adds lines; a response adds one, or replaces old ones."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.root = Path(self.stack.enter_context(TemporaryDirectory()))
        subprocess.run(["git", "init", "--quiet", self.root], check=True)
        (self.root / ".gitignore").write_text("/.tool\n")
        (self.root / OLD).write_bytes(b"".join(BASE))
        self.typed: dict[str, set[bytes]] = {OLD: set(), NEW: set()}
        self.shown: dict[str, bytes | None] = {}
        self.built: bytes | None = None
        self.number = 0
        self.runs: list[str] = []
        self.may_stay = False  # lines of a response, because an undo or a redo met a conflict

    @initialize()
    def start(self) -> None:
        options = {"private_folder": ".tool", "sandbox": SandboxSettings(mode="off")}
        self.workspace = self.stack.enter_context(
            Workspace.open(self.root, writes=True, **options)  # type: ignore[arg-type]
        )
        self.begin()
        self.look()

    def teardown(self) -> None:
        with self.stack:
            if not self.runs:
                return
            for run in reversed(self.runs):
                try:
                    self.workspace.store.undo(run)
                except NotReady as error:
                    self.may_stay = self.may_stay or "same places" in error.message
            self.no_line_is_lost_and_none_is_torn()
            if not self.may_stay:
                assert not [line for line in self.lines() if line.startswith(b"response")]

    # --- what they do -----------------------------------------------------------------------------

    @rule()
    def begin(self) -> None:
        self.runs.append(f"run-{len(self.runs)}")
        self.run = self.workspace.begin(self.runs[-1])

    @rule()
    def look(self) -> None:
        """The model sees the files as they are; it answers later."""
        self.shown = {path: self.content(path) for path in (OLD, NEW)}

    @rule(path=paths, place=places)
    def type_a_line(self, path: str, place: int) -> None:
        content = self.content(path)
        if content is None:
            return
        line = self.new_line("mine")
        self.typed[path].add(line)
        lines = content.splitlines(keepends=True)
        (self.root / path).write_bytes(b"".join([*lines[:place], line, *lines[place:]]))

    @rule(place=places, formats=st.booleans())
    def build(self, place: int, formats: bool) -> None:
        """A build writes a file beside, and sometimes a line into one of the others."""
        (self.root / BUILT).write_bytes(self.new_line("base"))
        self.built = self.content(BUILT)
        if formats:
            self.type_a_line(OLD, place)
        self.run.note("process")

    @rule(path=paths, place=places, replaced=st.integers(0, 2))
    def respond(self, path: str, place: int, replaced: int) -> None:
        before = self.content(path)
        lines = (self.shown[path] or b"").splitlines(keepends=True)
        kept = [line for line in lines[place : place + replaced] if line in self.typed[path]]
        content = b"".join(
            [*lines[:place], *kept, self.new_line("response"), *lines[place + replaced :]]
        )
        try:
            self.run.apply([Change(path, content)], {path: self.shown[path]})
        except NotReady:
            assert self.content(path) == before

    @rule(path=paths, place=places, typed=places)
    def try_a_response(self, path: str, place: int, typed: int) -> None:
        with self.run.trial() as trial:
            self.respond(path, place, 1)
            self.type_a_line(path, typed)
            there = {name: self.content(name) for name in (OLD, NEW)}
        self.bring_back(trial.moved.replaced, there)

    @rule(force=st.booleans())
    def undo(self, force: bool) -> None:
        there = {path: self.content(path) for path in (OLD, NEW)}
        try:
            undone = self.workspace.store.undo(None, force=force)
        except NotReady:
            assert {path: self.content(path) for path in (OLD, NEW)} == there
            return
        if undone.replaced:
            self.bring_back(undone.replaced, there)
            self.may_stay = True

    @rule()
    def redo(self) -> None:
        before = {path: self.content(path) for path in (OLD, NEW)}
        try:
            self.workspace.store.redo()
        except NotReady:
            assert {path: self.content(path) for path in (OLD, NEW)} == before

    def bring_back(self, replaced: object, there: dict[str, bytes | None]) -> None:
        """Redo, where lines of a person gave way."""
        if replaced:
            self.workspace.store.redo()
            for path in replaced:  # type: ignore[attr-defined]
                assert self.content(path) == there[path]

    # --- what holds -------------------------------------------------------------------------------

    @invariant()
    def no_line_is_lost_and_none_is_torn(self) -> None:
        assert self.content(BUILT) == self.built
        for path, typed in self.typed.items():
            lines = (self.content(path) or b"").splitlines(keepends=True)
            assert typed <= set(lines), path
            assert len(lines) == len(set(lines)), path
            assert all(line.startswith((b"base ", b"mine ", b"response ")) for line in lines)

    def lines(self) -> list[bytes]:
        return [line for path in (OLD, NEW) for line in (self.content(path) or b"").splitlines()]

    def content(self, path: str) -> bytes | None:
        file = self.root / path
        return file.read_bytes() if file.exists() else None

    def new_line(self, by: str) -> bytes:
        self.number += 1
        return b"%s %d\n" % (by.encode(), self.number)


TestPeopleAndModels = PeopleAndModels.TestCase
TestPeopleAndModels.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
