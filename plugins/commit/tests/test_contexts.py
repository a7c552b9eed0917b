"""Contexts of plugins: which code the model sees, and how it asks for more."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_commit.plugin_api import estimate_tokens
from code_commit_commit.hooks import Selection
from code_commit_commit.prompts import Context as PromptContext
from code_commit_commit.prompts import initial_prompt
from code_commit_commit.requested_files import watch_requests
from code_commit_commit.selected_code import SelectedCode
from code_commit_testing import Finished, install_plugin

GREEN = "^^^a.txt\ngood\n^^^end\n"
CHOOSER = """
import json
from code_commit.plugin_api import hookimpl
from code_commit_commit.hooks import Context, Selection


def choose(request):
    told = json.loads((request.project.root / "agent-config/choice.json").read_text())
    if told.get("raises"):
        raise ValueError(told["raises"])
    if told.get("returns"):
        return told["returns"]
    if told.get("records"):
        told["reason"] = json.dumps([request.query, list(request.paths), request.tokens, list(request.named)])
    return Selection(paths=told.get("paths", []), map=told.get("map", {}), reason=told.get("reason", ""))


def related(request, failure, changed):
    told = json.loads((request.project.root / "agent-config/choice.json").read_text())
    if told.get("related") is None:
        raise ValueError("no relations")
    return told["related"]


@hookimpl(optionalhook=True)
def code_commit_contexts(settings):
    return [Context("{name}", "chooses what a file says", choose, related)]
"""


@dataclass(frozen=True)
class Chooser:
    """Runs the workflow with a context that chooses what a test says."""

    change: Any
    plugins: Sequence[Any]

    def __call__(
        self, answers: Sequence[str], *arguments: str, settings: str = "", **choice: Any
    ) -> Finished:
        project = self.change.project
        project.write({"agent-config/choice.json": json.dumps({"related": [], **choice})})
        self.change.script(answers, settings)
        environ = {"CODE_COMMIT_SANDBOX": "off"}
        return self.command(*arguments, environ=environ)

    def command(self, *arguments: str, **options: Any) -> Finished:
        """Run the command without the contexts of code-commit-context."""
        if find_spec("code_commit_context"):
            arguments = (*arguments, "--disable-plugin=context")
        return self.change.project.command(*arguments, plugins=self.plugins, **options)

    def prompt(self, number: int = 1) -> str:
        """Return a prompt of the latest run."""
        return self.change.prompts()[number - 1]

    def shown(self, number: int = 1) -> list[str]:
        """Return the files whose text a prompt of the latest run has."""
        codebase = self.prompt(number).partition("[codebase]\n")[2].partition("[file replace")[0]
        return [
            line[4:-4]
            for line in codebase.splitlines()
            if line.startswith("--- ") and line.endswith(" ---")
        ]

    def others(self, number: int = 1) -> str:
        """Return the section of a prompt about files that it does not show."""
        return self.prompt(number).partition("[other files]\n")[2].partition("[query]\n")[0]


FILES = {f"src/{name}.py": f"def {name}():\n    return {name!r}\n" for name in "bcdefg"}


@pytest.fixture
def choose(change, tmp_path):
    change.project.write(FILES)
    (change.project.root / "agent-config/codeRollup.txt").unlink()
    chooser = CHOOSER.replace("{name}", "chosen")
    plugins = [change.plugins, install_plugin(tmp_path / "chooser", "chooser", chooser)]
    return Chooser(change, plugins)


def events(finished: Finished, kind: str) -> list[dict[str, Any]]:
    return [event["data"] for event in finished.events if event["kind"] == kind]


def test_the_prompt_has_the_chosen_files_and_a_map_of_others(choose):
    finished = choose(
        [GREEN],
        "--context=chosen",
        "--json",
        paths=["src/c.py", "a.txt", "src/c.py"],
        map={"src/b.py": ["b", "also\nthis"], "src/d.py": [], "a.txt": ["shown"]},
        reason="as the test says",
    )
    assert finished.exit_code == 0, finished.stderr
    assert choose.shown() == ["a.txt", "src/c.py"]
    assert choose.others().startswith("The codebase has 2 of 9 files of the project.\n")
    assert choose.others().endswith("\n\nsrc/b.py: b, also\\nthis\nsrc/d.py\n\n")
    [chosen] = events(finished, "context.chosen")
    assert 35 < chosen.pop("tokens") < 50
    assert chosen == {
        "context": "chosen",
        "reason": "as the test says",
        "files": ["src/c.py", "a.txt"],
        "total": 9,
        "mapped": 2,
        "cost_usd": None,
        "left_out": [],
        "cause": "query",
    }
    assert "chosen 2 of 9 files, about 43 tokens\n" in finished.stderr
    assert "  as the test says\n" in finished.stderr


def test_a_context_gets_what_it_chooses_for(choose):
    settings = '[plugins.commit]\ncontext = "chosen"\n'
    arguments = ("--query", "Do it.", "--context-tokens=500", "--files", "./a.txt", "src/b.py")
    finished = choose([GREEN], *arguments, "--json", settings=settings, records=True)
    [chosen] = events(finished, "context.chosen")
    query, paths, tokens, named = json.loads(chosen["reason"])
    expected = [".gitignore", "a.txt", "build.sh", *sorted(FILES)]
    assert (query, paths, tokens, named) == ("Do it.", expected, 500, ["a.txt", "src/b.py"])
    assert choose.shown() == ["a.txt", "src/b.py"]
    finished = choose(
        [GREEN],
        "--model=scripted/gpt-4o",
        "--json",
        settings=settings,
        records=True,
        paths=["a.txt"],
    )
    [chosen] = events(finished, "context.chosen")
    assert json.loads(chosen["reason"])[2] == 64_000
    assert chosen["cost_usd"] > 0


def test_all_of_the_files_leave_nothing_to_ask_for(choose):
    everything = [".gitignore", "a.txt", "build.sh", *FILES]
    assert choose([GREEN], "--context=chosen", paths=everything).exit_code == 0
    assert choose.others() == ""
    chosen = choose.prompt()
    choose.change.project.write({"a.txt": "old\n"})
    assert choose([GREEN], "--query", "Change a.txt.\n", "--context=all").exit_code == 0
    assert choose.prompt() == chosen


def test_an_explicit_limit_holds_where_the_window_is_unknown(choose, tmp_path):
    project = choose.change.project
    plugin = CHOOSER.replace("{name}", "ranked")
    choose.plugins.append(install_plugin(tmp_path / "ranked", "ranked", plugin))
    arguments = ("--query=Do it.", "--context-tokens=30")
    finished = choose([GREEN], *arguments, paths=["a.txt"])
    assert finished.exit_code == 0, finished.stderr
    assert "not all of the code is sent: the code (about" in finished.stderr
    assert "exceeds the limit of 30" in finished.stderr
    assert choose.shown() == ["a.txt"]
    project.write({"agent-config/codeRollup.txt": "--- a.txt ---\nold\n" + "words\n" * 100})
    finished = choose([GREEN], *arguments, paths=["a.txt"])
    assert "words\nwords\n" in choose.change.prompts()[-1]


# --- which context --------------------------------------------------------------------------------

LARGE = "words of a text\n" * 30_000


def test_code_that_does_not_fit_is_chosen_by_the_context_ranked(choose, tmp_path):
    """With a rollup of ours, among its files; of another program's nothing is known."""
    project = choose.change.project
    project.write({"src/large.txt": LARGE})
    arguments = ("--model=scripted/gpt-4o", "--query=Do it.")
    finished = choose([GREEN], *arguments, paths=["a.txt"])
    assert finished.exit_code == 3
    assert (
        'show the files that fit the query: in a checkout of code-commit, pip install ".[context]"'
        in finished.stderr
    )
    plugin = CHOOSER.replace("{name}", "ranked")
    choose.plugins.append(install_plugin(tmp_path / "ranked", "ranked", plugin))
    finished = choose([GREEN], *arguments, paths=["a.txt"], map={"src/large.txt": []})
    assert finished.exit_code == 0, finished.stderr
    assert "not all of the code is sent: the prompt has about" in finished.stderr
    assert "ranked 1 of 10 files, about 18 tokens ($0.00)\n" in finished.stderr
    assert choose.shown() == ["a.txt"]
    finished = choose([GREEN], *arguments, "--context=all", paths=["a.txt"])
    assert (finished.exit_code, "[context]" in finished.stderr) == (3, False)
    assert choose.command("rollup", "--include=src").exit_code == 0
    finished = choose([GREEN], *arguments, "--json", records=True, paths=["src/b.py", "a.txt"])
    [chosen] = events(finished, "context.chosen")
    assert json.loads(chosen["reason"])[1] == sorted([*FILES, "src/large.txt"])
    assert chosen["files"] == ["src/b.py"]
    project.write({"agent-config/codeRollup.txt": f"--- a.txt ---\nold\n{LARGE}"})
    finished = choose([GREEN], *arguments, paths=["a.txt"])
    assert (finished.exit_code, "reads at most 128,000" in finished.stderr) == (3, True)


def test_code_that_fits_is_shown_as_without_a_context(choose, tmp_path):
    plugin = CHOOSER.replace("{name}", "ranked")
    arguments = ("--query=Do it.", "--dry-run")
    assert choose([GREEN], *arguments).exit_code == 0
    without = choose.prompt()
    choose.plugins.append(install_plugin(tmp_path / "ranked", "ranked", plugin))
    assert choose([GREEN], *arguments, raises="not asked").exit_code == 0
    assert choose.prompt() == without
    paths = [".gitignore", "a.txt", "build.sh", *FILES]
    texts = [f"--- {path} ---\n{choose.change.project.read(path)}" for path in paths]
    [expected] = initial_prompt(PromptContext("Do it.", "".join(texts)))
    assert without == expected


def test_a_context_that_is_not_there_is_named(choose, tmp_path):
    calls: dict[tuple[int, str], tuple[tuple[str, ...], str]] = {
        (2, "--context: there is no context 'chosn'; did you mean chosen?"): (("--context=chosn",), ""),
        (3, "context in [plugins.commit]: there is no context 'map'"): ((), 'context = "map"'),
        (2, 'installed: auto, all, chosen; for this one: in a checkout of code-commit, pip install ".[context]"'): (
            ("--context=ranked",), ""),
        (2, "--context: there is no context 'ranked'"): (("--context=ranked",), 'context = "all"'),
        (2, "--files cannot be used with --context all"): (("--context=all", "--files=a.txt"), ""),
        (2, "--context-tokens"): (("--context-tokens=0",), ""),
        (3, "context_tokens"): ((), 'context_tokens = "many"'),
    }  # fmt: skip
    for (code, words), (arguments, setting) in calls.items():
        finished = choose([GREEN], *arguments, settings=f"[plugins.commit]\n{setting}\n")
        assert (finished.exit_code, words in finished.stderr) == (code, True), finished.stderr
    install_plugin(tmp_path / "chooser", "other", CHOOSER.replace("{name}", "chosen"))
    finished = choose([GREEN], "--context=chosen")
    assert finished.exit_code == 3
    assert "code-commit-chooser and code-commit-other offer the context chosen" in finished.stderr


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"raises": "broken"}, "failed: ValueError: broken"),
        ({"returns": ["a.txt"]}, "failed: TypeError: it returned list, not a Selection"),
        ({"paths": "a.txt"}, "its paths are str, not a sequence of texts"),
        ({"paths": [7]}, "its paths have int, not only texts"),
        ({"map": {"a.txt": [None]}}, "its names in the map have NoneType"),
        ({"map": ["a.txt"]}, "its map is list, not a mapping"),
    ],
)
def test_a_broken_context_ends_the_run_before_a_call(choose, choice, words):
    finished = choose([GREEN], "--context=chosen", **choice)
    assert finished.exit_code == 3
    assert "the context chosen of code-commit-chooser failed: " in finished.stderr
    assert words in finished.stderr
    assert not list(choose.change.project.root.glob("logs/*/"))


def test_offers_that_are_no_contexts_are_left_out(choose, tmp_path):
    code = CHOOSER.replace("[Context(", "[7, Context('all', '', choose), Context(")
    install_plugin(tmp_path / "chooser", "odd", code.replace("{name}", "odd"))
    finished = choose([GREEN], "--context=odd", paths=["a.txt"])
    assert finished.exit_code == 0
    assert "code-commit-odd offers a context that is int, not a Context" in finished.stderr
    assert "has the name all, which has a meaning of its own" in finished.stderr


# --- the limit ------------------------------------------------------------------------------------


def test_files_that_do_not_fit_are_skipped_and_the_map_takes_the_rest(choose):
    project = choose.change.project
    project.write({"large.txt": "word " * 1000})
    finished = choose(
        [GREEN],
        "--context=chosen",
        "--context-tokens=49",
        "--json",
        paths=["large.txt", "src/b.py", "src/c.py", "a.txt", "src/d.py"],
        map={path: [] for path in (*FILES, "large.txt")},
    )
    [chosen] = events(finished, "context.chosen")
    assert chosen["files"] == ["src/b.py", "src/c.py", "a.txt"]
    assert 43 < chosen["tokens"] <= 49
    text = choose.prompt().partition("[codebase]\n")[2] + choose.others().rpartition("\n\nsrc")[2]
    assert estimate_tokens(text) <= 49
    finished = choose([GREEN], "--context=chosen", "--context-tokens=1", paths=list(FILES))
    assert finished.exit_code == 3
    assert "no code can be shown: no file fits into 1 token\n" in finished.stderr
    assert "pass --context-tokens" in finished.stderr


def test_what_cannot_be_shown_is_named_with_its_distribution(choose):
    project = choose.change.project
    project.write({"agent-config/secret.txt": "x", ".env": "KEY=1\n"})
    (project.root / "image.bin").write_bytes(b"\0\1")
    nonsense = [
        "/etc/passwd",
        "../x",
        "agent-config/secret.txt",
        "gone.py",
        "image.bin",
        "",
        ".env",
    ]
    finished = choose(
        [GREEN], "--context=chosen", "--json", paths=[*nonsense, "a.txt"], map={"gone.c": []}
    )
    assert finished.exit_code == 0, finished.stderr
    [chosen] = events(finished, "context.chosen")
    assert chosen["files"] == ["a.txt"]
    assert {row["path"] for row in chosen["left_out"]} == {*nonsense, "gone.c"}
    words = "warning: code-commit-chooser: the context chosen chose files that cannot be shown: "
    assert f"{words}, ../x, .env, /etc/passwd, agent-config/secret.txt, gone.c" in finished.stderr


def test_a_project_without_code_is_not_ready(choose):
    project = choose.change.project
    project.git("rm", "-q", "--cached", "-r", ".")
    project.write({".gitignore": "*\n/agent-config\n"})
    finished = choose([GREEN], "--context=chosen", paths=["a.txt"])
    assert (finished.exit_code, "there is no code to collect" in finished.stderr) == (3, True)


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.text(alphabet="a(_ 1\n", max_size=300)),
    st.permutations("abcdefghi"),
    st.integers(1, 300),
    st.lists(st.sampled_from("abcdefgh"), max_size=3),
    st.lists(st.sampled_from("abcdefgh"), max_size=2),
)
def test_files_and_map_never_have_more_tokens_than_the_limit(files, order, limit, more, kept):
    project = FakeProject({path: text.encode() for path, text in files.items()})
    code = SelectedCode(project, sorted(files), limit)
    code.show(order[:1])
    code.select(Selection(paths=order, map={path: ["name"] for path in order}))
    for _ in range(2):
        text, rollup = code.rollup()
        assert estimate_tokens(text.decode()) + estimate_tokens(code.map) <= limit + 4  # rounding
        assert code.tokens <= limit
        assert not set(code.mapped) & rollup.files.keys()
        before = code.contents
        code.show_more(more, kept)
        assert before.keys() & set(kept) <= code.contents.keys()


@dataclass
class FakeProject:
    """A project and its tree."""

    files: dict[str, bytes]

    @property
    def tree(self):
        return self

    def may_read(self, path):
        return None

    def read(self, path, limit=None, *, start=0):
        return self.files.get(path)

    def size(self, path):
        return len(self.files.get(path, b""))

    def contents(self, paths, limit):
        return [(path, self.files.get(path)) for path in paths]


# --- named files ----------------------------------------------------------------------------------


def test_named_files_are_shown_first_and_alone(choose, tmp_path):
    project = choose.change.project
    project.write({"uv.lock": "locked\n"})
    arguments = (
        "--files",
        "src/d.py",
        "./src/c.py",
        "src/d.py",
        "--files",
        str(project.root / "uv.lock"),
    )
    finished = choose(
        [GREEN], *arguments, "--json", settings="[plugins.commit]\nunseen_file = 'allow'\n"
    )
    assert finished.exit_code == 0, finished.stderr
    [chosen] = events(finished, "context.chosen")
    assert (chosen["context"], chosen["files"]) == ("named", ["src/d.py", "src/c.py", "uv.lock"])
    assert (chosen["total"], chosen["mapped"]) == (10, 0)
    assert choose.shown() == ["src/c.py", "src/d.py", "uv.lock"]
    assert "The codebase has 3 of 10 files" in choose.others()
    plugin = CHOOSER.replace("{name}", "ranked")
    choose.plugins.append(install_plugin(tmp_path / "ranked", "ranked", plugin))
    project.write({"a.txt": "old\n"})
    choose([GREEN], "--files=a.txt", paths=["src/b.py"], map={"src/c.py": ["c"]})
    assert choose.shown() == ["a.txt"]
    assert choose.others().endswith("\nsrc/b.py\nsrc/c.py: c\n\n")


def test_named_files_that_cannot_be_shown_are_refused(choose, tmp_path):
    project = choose.change.project
    project.write({".env": "KEY=1\n", "large.txt": "word " * 1000})
    (project.root / "link").symlink_to("/etc/passwd")
    (project.root / "image.bin").write_bytes(b"\0\1")
    for name, words in {
        "gone.py": "a model cannot see gone.py: There is no such file.",
        "../x": "--files: ../x is outside of the project",
        "/etc/passwd": "--files: /etc/passwd is outside of the project",
        "src": "--files takes files, and src is a folder",
        ".": "--files takes files, and . is a folder",
        "agent-config/query.txt": "a model cannot see agent-config/query.txt",
        ".env": "a model cannot see .env: It may contain secrets.",
        "link": "a model cannot see link",
        "": "--files takes files",
    }.items():
        finished = choose([GREEN], f"--files={name}")
        assert (finished.exit_code, words in finished.stderr) == (2, True), finished.stderr
    for name, words in {
        "image.bin": "--files: image.bin cannot be shown: It cannot be read as UTF-8 text.\nhint: name text",
        "large.txt": "--files: large.txt cannot be shown: It has about 1,",
    }.items():
        finished = choose([GREEN], "--files", "a.txt", name, "--context-tokens=500")
        assert (finished.exit_code, words in finished.stderr) == (3, True), finished.stderr
    assert not list(choose.change.project.root.glob("logs/*/"))


# --- asking for more ------------------------------------------------------------------------------


def test_a_response_can_ask_for_files_twice(choose):
    project = choose.change.project
    project.write({".env": "KEY=1\n"})
    odd = f"odd\x1b{'y' * 9000}"
    first = f"I need more.\n%%%files\nsrc/b.py\n./src/c.py\ngone.py\n.env\n\na.txt\n{odd}\n%%%end\n"
    second = "%%%files\nsrc/d.py\n%%%end"
    finished = choose([first, second, GREEN], "--context=chosen", "--json", paths=["a.txt"])
    assert finished.exit_code == 0, finished.stderr
    assert choose.shown(2) == ["a.txt", "src/b.py", "src/c.py"]
    assert choose.shown(3) == ["a.txt", "src/b.py", "src/c.py", "src/d.py"]
    assert "you can do this twice" in choose.others(1)
    assert "you can do this once" in choose.others(2)
    assert "%%%files" not in choose.others(3)
    assert "No further files can be shown" in choose.others(3)
    refused = (
        "cannot be shown:\n\na.txt: It is shown.\ngone.py: There is no such file.\n.env: It may"
    )
    assert refused in choose.others(2)
    assert re.search(r"^odd\\x1by{190,200}…: ", choose.others(2), re.MULTILINE)
    assert "cannot be shown" not in choose.others(3)
    assert [call["request"] for call in events(finished, "call.started")] == [
        f"{number}-initial-query.txt" for number in (1, 2, 3)
    ]
    assert [chosen["cause"] for chosen in events(finished, "context.chosen")] == [
        "query", "request", "request",
    ]  # fmt: skip
    assert "not shown: gone.py: There is no such file." in finished.stderr
    assert len(events(finished, "attempt.started")) == 1


def test_a_request_that_is_wrong_is_sent_back(choose):
    request = "%%%files\nsrc/b.py\n%%%end\n"
    reasons = {
        f"{GREEN}{request}": "both file replacements and a list",
        f"{request}\n{GREEN}": "both file replacements and a list",
        "%%%files\n%%%end\n": "the list `%%%files` has no path",
        "%%%files\nsrc/b.py\n": "has no closing line `%%%end`",
        f"{request}{request}Words.\n": "",
        f"Words.\n{request}{request}": "more than one line `%%%files`",
    }
    for answer, reason in reasons.items():
        choose.change.project.write({"a.txt": "old\n"})
        finished = choose([answer, GREEN], "--context=chosen", paths=["a.txt"])
        assert (finished.exit_code, reason in choose.prompt(2)) == (0, True), answer
        labels = sorted(
            path.name for path in choose.change.project.run_folder.glob("[0-9]*-query.txt")
        )
        kind = "repair" if reason else "initial"
        assert labels == ["1-initial-query.txt", f"2-{kind}-query.txt"]
    finished = choose([request, request.replace("b", "c"), request.replace("b", "d"), GREEN],
                      "--context=chosen", paths=["a.txt"])  # fmt: skip
    assert "the response asks for more files, and no further files can be shown" in choose.prompt(4)


def test_the_marks_in_a_file_or_without_a_context_ask_for_nothing(choose):
    content = "^^^a.txt\ngood\n%%%files\nsrc/b.py\n%%%end\n^^^end\n"
    assert choose([content], "--context=chosen", paths=["a.txt"]).exit_code == 0
    assert "%%%files" in choose.change.project.read("a.txt")
    finished = choose(["%%%files\nsrc/b.py\n%%%end\n"] * 2, "--query=x")
    assert finished.exit_code == 5
    assert "no line begins with `^^^`" in finished.stderr


def test_asked_files_take_the_place_of_others(choose):
    request = "%%%files\nsrc/g.py\nlarge.txt\n%%%end\n"
    choose.change.project.write({"large.txt": "word " * 1000})
    limits = ("--context=chosen", "--context-tokens=48")
    finished = choose([request, GREEN], *limits, paths=["a.txt", "src/b.py", "src/c.py"])
    assert finished.exit_code == 0, finished.stderr
    assert choose.shown(1) == ["a.txt", "src/b.py", "src/c.py"]
    assert choose.shown(2) == ["a.txt", "src/b.py", "src/g.py"]
    assert "\nsrc/c.py\n" in choose.others(2)
    assert "large.txt: It has about 1," in choose.others(2)


def test_small_files_stay_beside_a_large_one_that_takes_the_place_of_another(choose):
    large = {f"large{number}.txt": f"{number} words\n" * 100 for number in range(2)}
    choose.change.project.write(large)
    request = "%%%files\nlarge1.txt\n%%%end\n"
    arguments = ("--context=chosen", "--context-tokens=600")
    finished = choose([request, GREEN], *arguments, paths=["large0.txt", "a.txt", "src/b.py"])
    assert finished.exit_code == 0, finished.stderr
    assert choose.shown(1) == ["a.txt", "large0.txt", "src/b.py"]
    assert choose.shown(2) == ["a.txt", "large1.txt", "src/b.py"]
    assert choose.others(2).endswith("\nlarge0.txt\n\n")


@given(st.lists(st.integers(1, 9), max_size=40), st.sampled_from([
    ("%%%files\na\n%%%end\nwords follow", "%%%files\na\n%%%end"),
    ("\n\ufeff%%%files \r\na\n%%%end\n\n^^^a", "\n\ufeff%%%files \r\na\n%%%end\n\n^^^"),
    ("%%%files\na\n%%%end\n ^^^a", "%%%files\na\n%%%end"),
    ("%%%files\na\n%%%end\n^^", None),
    ("words\n%%%files\na\n%%%end\nmore", None),
    ("%%%files\na\n", None),
]))  # fmt: skip
def test_a_stream_ends_where_its_request_does(sizes, case):
    text, cut = case
    read = watch_requests(lambda: lambda piece: None)()
    ends = []
    start = 0
    for size in [*sizes, len(text)]:
        ends.append(read(text[start : start + size]))
        start += size
    known = [end for end in ends if end is not None]
    assert known[:1] == ([] if cut is None else [len(cut)])


# --- repairs --------------------------------------------------------------------------------------

RED = "^^^a.txt\nbad\n^^^end\n"


def test_related_files_join_the_repair(choose):
    finished = choose(
        [RED, GREEN],
        "--context=chosen",
        "--json",
        paths=["a.txt", "src/b.py"],
        map={"src/c.py": ["c"]},
        related=["src/c.py", "a.txt", "gone.py", "src/b.py"],
    )
    assert finished.exit_code == 0, finished.stderr
    assert choose.shown(2) == ["a.txt", "src/b.py", "src/c.py"]
    assert "src/c.py: c" not in choose.others(2)
    assert [chosen["cause"] for chosen in events(finished, "context.chosen")] == [
        "query", "failure",
    ]  # fmt: skip
    assert "chose files that cannot be shown: gone.py" in finished.stderr
    assert "files for the repair: chosen 3 of 9 files" in finished.stderr


def test_a_context_that_finds_nothing_related_does_not_end_the_run(choose):
    finished = choose([RED, GREEN], "--context=chosen", paths=["a.txt"], related=None)
    assert finished.exit_code == 0, finished.stderr
    words = "the context chosen of code-commit-chooser found no related files: ValueError: no rel"
    assert words in finished.stderr


def test_a_changed_file_does_not_give_way_in_a_repair(choose):
    finished = choose(
        [RED.replace("a.txt", "src/b.py") + RED, GREEN],
        "--context=chosen",
        "--context-tokens=50",
        paths=["src/c.py", "a.txt", "src/b.py"],
        related=["src/d.py"],
    )
    assert finished.exit_code == 0, finished.stderr
    assert choose.shown(1) == ["a.txt", "src/b.py", "src/c.py"]
    assert choose.shown(2) == ["a.txt", "src/b.py", "src/d.py"]


def test_related_files_take_half_of_the_place_at_most(choose):
    """The best of the chosen ones stay, such as the file that an unusable response meant."""
    finished = choose(
        ["no block", GREEN],
        "--context=chosen",
        "--context-tokens=50",
        paths=["a.txt", "src/b.py", "src/c.py"],
        related=["src/d.py", "src/e.py", "src/f.py"],
    )
    assert finished.exit_code == 0, finished.stderr
    assert choose.shown(1) == ["a.txt", "src/b.py", "src/c.py"]
    assert choose.shown(2) == ["a.txt", "src/b.py", "src/d.py"]


def test_a_changed_file_does_not_give_way_to_a_request_in_a_repair(choose):
    request = "%%%files\nsrc/d.py\n%%%end\n"
    finished = choose(
        [RED.replace("a.txt", "src/b.py") + RED, request, GREEN],
        "--context=chosen",
        "--context-tokens=50",
        paths=["src/c.py", "a.txt", "src/b.py"],
    )
    assert finished.exit_code == 0, finished.stderr
    assert choose.shown(3) == ["a.txt", "src/b.py", "src/d.py"]
    assert "complaint about bad" in choose.prompt(3)


def test_a_file_that_the_build_changes_can_give_way_and_be_asked_for_again(choose):
    """The model knows what it asks for as it is then."""
    project = choose.change.project
    project.write(
        {"build.sh": "echo '# built' >> src/c.py; echo '# too' >> src/e.py\ngrep -q good a.txt\n"}
    )
    request = "%%%files\nsrc/c.py\n%%%end\n"
    finished = choose(
        [RED, request, "^^^src/c.py\nc = 1\n^^^end\n" + GREEN],
        "--context=chosen",
        "--context-tokens=50",
        paths=["src/c.py", "a.txt", "src/e.py"],
        related=["src/d.py"],
    )
    assert finished.exit_code == 0, finished.stderr
    assert choose.shown(2) == ["a.txt", "src/c.py", "src/d.py"]
    assert [prompt.count("# built\n") for prompt in choose.change.prompts()] == [0, 0, 1]
    assert project.read("src/c.py") == "c = 1\n# built\n"


def test_a_file_that_is_not_shown_is_not_replaced_blind(choose):
    blind = "^^^src/b.py\nb = 1\n^^^end\n"
    finished = choose([blind + GREEN, blind + GREEN], "--context=chosen", paths=["a.txt"])
    assert finished.exit_code == 0, finished.stderr
    assert "The text of src/b.py, which is not in the codebase" in choose.prompt(2)
    assert choose.change.project.read("src/b.py") == "b = 1\n"
    request = "%%%files\nsrc/c.py\n%%%end\n"
    known = "^^^src/c.py\nc = 1\n^^^end\n"
    choose.change.project.write({"a.txt": "old\n"})
    assert choose([request, known + GREEN], "--context=chosen", paths=["a.txt"]).exit_code == 0
    assert choose.change.project.read("src/c.py") == "c = 1\n"


# --- a rollup of a choice -------------------------------------------------------------------------


def test_a_rollup_of_a_choice_is_used_as_it_was_chosen(choose):
    """Later runs read its files again, and call no other file new."""
    project = choose.change.project
    project.write({"agent-config/choice.json": json.dumps(
        {"paths": ["src/c.py", "gone", "a.txt"], "map": {"src/b.py": ["b"]}, "reason": "so"}
    )})  # fmt: skip
    arguments = ("--context=chosen", "--context-tokens=50", "--query=Do it.", "--json")
    finished = choose.command("rollup", *arguments)
    assert finished.exit_code == 0, finished.stderr
    text = project.read("agent-config/codeRollup.txt")
    document = finished.document
    assert text.endswith("\n[other files]\nsrc/b.py: b\n")
    assert document["tokens"] == pytest.approx(estimate_tokens(text), abs=3)
    assert document["tokens"] <= 50
    assert document.pop("bytes") == len(text)
    assert document.pop("left_out") == [
        {"path": "gone", "reason": "It is not among the files to choose from."}
    ]
    assert (document["files"], document["map"]) == (["src/c.py", "a.txt"], ["src/b.py"])
    assert "codeRollup.txt: chosen 2 of 9 files, about " in finished.stderr
    project.write({"src/c.py": "changed = 1\n", "new.py": "new = 1\n"})
    finished = choose([GREEN], "--json", raises="not asked")
    assert finished.exit_code == 0, finished.stderr
    assert "changed since the rollup: src/c.py; the run reads them again" in finished.stderr
    assert choose.shown() == ["a.txt", "src/c.py"]
    assert "changed = 1\n" in choose.prompt()
    assert "\n\nsrc/b.py: b\n" in choose.others()
    [chosen] = events(finished, "context.chosen")
    assert (chosen["context"], chosen["reason"], chosen["total"]) == ("chosen", "so", 10)
    finished = choose([GREEN], settings='[plugins.commit]\nchanged_since_rollup = "stop"\n')
    assert (finished.exit_code, "changed since the rollup" in finished.stderr) == (3, True)
    choose([GREEN], "--context=all")
    assert choose.shown() == [".gitignore", "a.txt", "build.sh", "new.py", *sorted(FILES)]


def test_a_rollup_without_a_choice_says_what_is_missing(choose):
    project = choose.change.project
    project.write({"agent-config/choice.json": "{}"})
    cases = {
        ("--context=ranked",): (2, "for this one: in a checkout of code-commit, pip install"),
        ("--context=chosen", "--query=x", "--context-tokens=0"): (2, "must be at least 1"),
        ("--query=x",): (2, "need --context"),
        ("--context=auto",): (2, "takes the name of a context here"),
        ("--context=chosen", "--query=x"): (3, "chose no file that fits into 100,000 tokens"),
        ("--context=chosen", "--query= "): (3, "there is no query"),
        ("--context=chosen", "--query=x", "--include=***/["): (3, ""),
    }
    for arguments, (code, words) in cases.items():
        finished = choose.command("rollup", *arguments)
        assert (finished.exit_code, words in finished.stderr) == (code, True), finished.stderr
    assert not (project.root / "agent-config/codeRollup.txt").exists()


# --- doctor ---------------------------------------------------------------------------------------


def test_doctor_checks_what_a_run_would_do(choose, tmp_path):
    project = choose.change.project
    model = ("--model=scripted/gpt-4o", "--no-build", "--json")

    def rollup_lines(setting: str = "") -> list[tuple[str, str]]:
        choose.change.script([], f"[plugins.commit]\n{setting}\n")
        finished = choose.command("doctor", *model)
        checks = [check for check in finished.document["checks"] if check["name"] == "rollup"]
        return [(check["state"], f"{check['text']} {check['hint']}") for check in checks]

    assert rollup_lines()[0] == ("ok", "none yet; a run collects 9 files ")
    project.write({"src/large.txt": LARGE})
    *_, (state, text) = rollup_lines()
    assert (state, "reads at most 128,000" in text) == ("problem", True)
    assert "show the files that fit the query: in a checkout" in text
    *_, (state, text) = rollup_lines("context = 'map'")
    assert (state, "there is no context 'map'" in text) == ("problem", True)
    plugin = CHOOSER.replace("{name}", "ranked")
    choose.plugins.append(install_plugin(tmp_path / "ranked", "ranked", plugin))
    chosen, size = rollup_lines("context_tokens = 9000")
    words = (
        "not all of the code fits, so a run shows what the context ranked chooses, at most 9,000"
    )
    assert (chosen[0], words in chosen[1]) == ("ok", True)
    assert re.search(
        r"a prompt has about 9,\d\d\d tokens; gpt-4o reads 128,000; a call costs", size[1]
    )
    [(state, text), _] = rollup_lines("context = 'chosen'")
    assert (state, text) == (
        "ok",
        "a run shows what the context chosen chooses, at most 64,000 tokens ",
    )
    *_, (state, text) = rollup_lines("context = 'all'")
    assert (state, "[context]" in text) == ("problem", False)
    project.write({"agent-config/choice.json": json.dumps({"paths": ["a.txt"]})})
    arguments = ("--context=chosen", "--query=x")
    assert choose.command("rollup", *arguments).exit_code == 0
    assert rollup_lines()[0] == ("ok", "1 file chosen by chosen ")
    project.write({"a.txt": "new\n"})
    assert rollup_lines()[0][1].startswith("1 file chosen by chosen; 1 file changed since, so the")
    assert rollup_lines("changed_since_rollup = 'stop'")[0][0] == "problem"
