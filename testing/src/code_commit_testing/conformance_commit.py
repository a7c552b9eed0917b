"""The conformance tests for what plugins add to the commit workflow, as pytest classes.

    from code_commit_testing.conformance_commit import FormatConformance, FormatSample

    class TestMine(FormatConformance):
        format = MINE
        samples = (FormatSample(response, before, after),)

The plugin of a context or an acceptance check must be installed: its class makes whole runs.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import pytest

from code_commit.plugin_api import Change
from code_commit_commit.hooks import MalformedResponse, ResponseFormat
from code_commit_testing.command import Finished, Project
from code_commit_testing.scripted_replies import Reply
from code_commit_testing.scripted_server import ScriptedServer

__all__ = ["AcceptanceConformance", "ContextConformance", "FormatConformance", "FormatSample"]

_ODD_TEXTS = (
    "",
    "\n" * 1000,
    "no change is needed",
    "\ud800",
    "\0",
    "^^^",
    "^^^a.txt\n",
    "^^^end\n",
    "{" * 1000,
    "<<<<<<< SEARCH\n=======\n",
    "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n",
)
_PIECE = 7  # characters of a streamed response
_DAMAGED = 200  # texts made of each sample
_MEGABYTE = 1 << 20
_PATIENCE = 20  # seconds of processor time for a megabyte


@dataclass(frozen=True, slots=True)
class FormatSample:
    """A response, the files before it, and the files after it, by path."""

    response: str
    before: Mapping[str, bytes]
    after: Mapping[str, bytes]


class FormatConformance:
    """Subclass it, name the subclass `Test…`, and set these attributes.

    `samples` are right responses; `malformed` are responses that the format refuses.
    """

    format: ClassVar[ResponseFormat]
    samples: ClassVar[Sequence[FormatSample]]
    malformed: ClassVar[Sequence[str]] = ("",)

    def test_a_right_response_has_its_changes(self) -> None:
        for sample in self.samples:
            files = dict(sample.before)
            for change in self._parse(sample.response, sample.before):
                files.pop(change.path, None)
                if change.content is not None:
                    files[change.path] = change.content
            assert files == sample.after, sample.response

    def test_the_same_response_has_the_same_changes(self) -> None:
        for sample in self.samples:
            changes = self._parse(sample.response, sample.before)
            assert changes == self._parse(sample.response, sample.before), sample.response

    def test_a_malformed_response_is_refused(self) -> None:
        for text in self.malformed:
            with pytest.raises(MalformedResponse) as refusal:
                self._parse(text, {})
            assert str(refusal.value).strip(), f"no reason for {text[:80]!r}"

    def test_a_cut_or_damaged_response_has_changes_or_a_reason(self) -> None:
        for sample in self.samples:
            for text in (*_cuts(sample.response), *_damaged(sample.response), *_ODD_TEXTS):
                self._parse_or_refuse(text, sample.before)

    def test_the_time_is_linear(self) -> None:
        for sample in self.samples:
            for repeated in (sample.response, sample.response[:1], "\n", "x"):
                text = sample.response + repeated * (_MEGABYTE // len(repeated))
                begin = time.process_time()
                self._parse_or_refuse(text, sample.before)
                assert time.process_time() - begin < _PATIENCE, f"1 MB of {repeated[:80]!r}"

    def test_a_right_response_is_read_to_its_end(self) -> None:
        if self.format.watch is None:
            pytest.skip("the format has no `watch`")
        for sample in self.samples:
            read = self.format.watch(len(sample.response))
            for start in range(0, len(sample.response), _PIECE):
                assert read(sample.response[start : start + _PIECE]) is None, sample.response

    def test_the_instructions_are_for_people_and_models(self) -> None:
        assert self.format.instructions.strip()
        assert self.format.help.isprintable()

    def _parse(self, response: str, files: Mapping[str, bytes]) -> tuple[Change, ...]:
        changes = tuple(self.format.parse(response, Files(dict(files))))
        for change in changes:
            assert isinstance(change, Change), change
            assert isinstance(change.content, bytes | None), change
        return changes

    def _parse_or_refuse(self, response: str, files: Mapping[str, bytes]) -> None:
        with suppress(MalformedResponse):
            self._parse(response, files)


@dataclass(frozen=True, slots=True)
class Files:
    """A `Tree` of files in memory."""

    files: dict[str, bytes] = field(default_factory=dict)

    def read(self, path: str, limit: int | None = None, *, start: int = 0) -> bytes | None:
        """See `Tree.read`."""
        content = self.files.get(path)
        if content is None:
            return None
        end = None if limit is None else start + limit
        return content[start:end]

    def size(self, path: str) -> int:
        """See `Tree.size`."""
        return len(self.files.get(path, b""))

    def mode(self, path: str) -> int | None:
        """See `Tree.mode`."""
        return 0o644 if path in self.files else None

    def contents(self, paths: Sequence[str], limit: int) -> Iterator[tuple[str, bytes | None]]:
        """See `Tree.contents`."""
        for path in paths:
            content = self.files.get(path)
            yield path, None if content is None or len(content) > limit else content

    def list(self, patterns: Sequence[str] = (), *, recursive: bool = True) -> tuple[str, ...]:  # noqa: ARG002
        """Return all files; patterns are not supported.

        Raises:
            ValueError: there are patterns.
        """
        if patterns:
            raise ValueError("the files of a test have no patterns")
        return tuple(sorted(self.files))


_PROJECTS: Mapping[str, Mapping[str, str]] = {
    "small": {"a.py": "def first():\n    return 1\n", "tests/test_a.py": "import a\n"},
    "no known language": {"a.xyz": "some words\n", "b": "more words\n"},
    "a large file": {"large.py": "x = 1\n" * 40_000, "small.py": "y = 1\n"},
    "identical files": {f"copy{number}.py": "def same(): pass\n" for number in range(20)},
    "odd names": {"ü/ä ö.py": "a = 1\n", "[slug].tsx": "export {}\n", "-flag.py": "b = 1\n"},
    "an empty file": {"empty.py": "", "a.py": "a = 1\n"},
}
_QUERIES = ("Rename first to second", "x", "重命名函数", "Ändere die Überschrift", "^^^ \\ '")


class ContextConformance:
    """Subclass it, name the subclass `Test…`, and set `name` to that of the context.

    `tokens` is the budget of the tests.
    """

    name: ClassVar[str]
    tokens: ClassVar[int] = 2000

    @pytest.mark.parametrize("files", _PROJECTS.values(), ids=_PROJECTS)
    def test_a_choice_keeps_the_budget_and_is_the_same_each_time(
        self, files: Mapping[str, str], tmp_path: Path
    ) -> None:
        project = Project.create(tmp_path, files=files)
        for query in _QUERIES:
            chosen = self._rollup(project, query).document
            paths = [*chosen["files"], *chosen["map"]]
            assert len(paths) == len(set(paths)), paths
            assert all((project.root / path).is_file() for path in paths), paths
            assert chosen["tokens"] <= self.tokens
            assert self._rollup(project, query).document == chosen

    def test_one_token_is_enough_for_nothing(self, tmp_path: Path) -> None:
        project = Project.create(tmp_path, files=_PROJECTS["small"])
        finished = self._rollup(project, "x", tokens=1)
        assert finished.exit_code in {0, 3}, finished.stderr
        assert "Traceback" not in finished.stderr

    def _rollup(self, project: Project, query: str, tokens: int | None = None) -> Finished:
        budget = str(tokens or self.tokens)
        options = ("--context", self.name, "--context-tokens", budget, "--query", query)
        finished = project.command("rollup", *options, "--json")
        if tokens is None:
            assert finished.exit_code == 0, finished.stderr
        return finished


_CHANGES: Mapping[str, str] = {
    "a change": "^^^a.txt\nchanged\n^^^end\n",
    "a deletion": "^^^a.txt\n^^^delete\n",
    "an empty file": "^^^empty.txt\n^^^end\n",
    "odd names": "^^^ü/ä ö.txt\nnew\n^^^end\n^^^[slug].tsx\nexport {}\n^^^end\n",
    "many files": "".join(f"^^^many/{number}.txt\nx\n^^^end\n" for number in range(300)),
    "a long line": f"^^^long.txt\n{'x' * 50_000}\n^^^end\n",
}


class AcceptanceConformance:
    """Subclass it, name the subclass `Test…`, and set `name` to that of the check."""

    name: ClassVar[str]

    @pytest.mark.parametrize("response", _CHANGES.values(), ids=_CHANGES)
    def test_a_green_change_gets_a_verdict_and_stays_as_it_is(
        self, response: str, tmp_path: Path
    ) -> None:
        project = Project.create(tmp_path, files={"a.txt": "old\n"})
        with ScriptedServer([Reply(response)]) as server:
            finished = project.command(
                "--model", "gpt-5", "--repairs", "0", "--json", environ=server.environment()
            )
        verdicts = [
            event["data"]
            for event in finished.events
            if event["kind"] == "acceptance.checked" and event["data"]["check"] == self.name
        ]
        assert verdicts, f"the check {self.name} is not installed: {finished.stderr}"
        assert finished.exit_code in {0, 1}, finished.stderr
        assert _status(project) == _status_after(response, tmp_path / "expected")


def _status(project: Project) -> str:
    return project.git("status", "--porcelain", "-z", "--untracked-files=all")


def _status_after(response: str, folder: Path) -> str:
    """Return the state of git after a run without the check."""
    folder.mkdir()
    project = Project.create(folder, files={"a.txt": "old\n"})
    with ScriptedServer([Reply(response)]) as server:
        project.command("--model", "gpt-5", "--repairs", "0", environ=server.environment())
    return _status(project)


def _cuts(text: str) -> Iterator[str]:
    step = max(1, len(text) // _DAMAGED)
    return (text[:end] for end in range(0, len(text), step))


def _damaged(text: str) -> Iterator[str]:
    """Yield `text` with a character removed, repeated or replaced; the same texts each time."""
    choose = random.Random(0)  # noqa: S311 - damages texts
    for _ in range(min(_DAMAGED, len(text))):
        place = choose.randrange(len(text))
        for new in ("", text[place] * 2, choose.choice("\n\r\t \0^<=>{}\"'\ud800")):
            yield text[:place] + new + text[place + 1 :]
