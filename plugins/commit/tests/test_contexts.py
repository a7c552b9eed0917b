"""Contexts of plugins: which code the model sees."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_commit.plugin_api import estimate_tokens
from code_commit_commit.hooks import Selection
from code_commit_commit.prompts import Context as PromptContext
from code_commit_commit.prompts import initial_prompt
from code_commit_commit.selected_code import SelectedCode
from code_commit_testing import install_plugin

GREEN = "^^^a.txt\ngood\n^^^end\n"


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
    [chosen] = choose.events(finished, "context.chosen")
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
    [chosen] = choose.events(finished, "context.chosen")
    query, paths, tokens, named = json.loads(chosen["reason"])
    expected = [".gitignore", "a.txt", "build.sh", *sorted(choose.files)]
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
    [chosen] = choose.events(finished, "context.chosen")
    assert json.loads(chosen["reason"])[2] == 64_000
    assert chosen["cost_usd"] > 0


def test_all_of_the_files_leave_nothing_to_ask_for(choose):
    everything = [".gitignore", "a.txt", "build.sh", *choose.files]
    assert choose([GREEN], "--context=chosen", paths=everything).exit_code == 0
    assert choose.others() == ""
    chosen = choose.prompt()
    choose.change.project.write({"a.txt": "old\n"})
    assert choose([GREEN], "--query", "Change a.txt.\n", "--context=all").exit_code == 0
    assert choose.prompt() == chosen


def test_an_explicit_limit_holds_where_the_window_is_unknown(choose):
    project = choose.change.project
    choose.add("ranked")
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


def test_code_that_does_not_fit_is_chosen_by_the_context_ranked(choose):
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
    choose.add("ranked")
    finished = choose([GREEN], *arguments, paths=["a.txt"], map={"src/large.txt": []})
    assert finished.exit_code == 0, finished.stderr
    assert "not all of the code is sent: the prompt has about" in finished.stderr
    assert "ranked 1 of 10 files, about 18 tokens ($0.00)\n" in finished.stderr
    assert choose.shown() == ["a.txt"]
    finished = choose([GREEN], *arguments, "--context=all", paths=["a.txt"])
    assert (finished.exit_code, "[context]" in finished.stderr) == (3, False)
    assert choose.command("rollup", "--include=src").exit_code == 0
    finished = choose([GREEN], *arguments, "--json", records=True, paths=["src/b.py", "a.txt"])
    [chosen] = choose.events(finished, "context.chosen")
    assert json.loads(chosen["reason"])[1] == sorted([*choose.files, "src/large.txt"])
    assert chosen["files"] == ["src/b.py"]
    project.write({"agent-config/codeRollup.txt": f"--- a.txt ---\nold\n{LARGE}"})
    finished = choose([GREEN], *arguments, paths=["a.txt"])
    assert (finished.exit_code, "reads at most 128,000" in finished.stderr) == (3, True)


def test_code_that_fits_is_shown_as_without_a_context(choose):
    arguments = ("--query=Do it.", "--dry-run")
    assert choose([GREEN], *arguments).exit_code == 0
    without = choose.prompt()
    choose.add("ranked")
    assert choose([GREEN], *arguments, raises="not asked").exit_code == 0
    assert choose.prompt() == without
    paths = [".gitignore", "a.txt", "build.sh", *choose.files]
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
    install_plugin(tmp_path / "chooser", "other", choose.code("chosen"))
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
    code = choose.code("odd").replace("[Context(", "[7, Context('all', '', choose), Context(")
    install_plugin(tmp_path / "chooser", "odd", code)
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
        map={path: [] for path in (*choose.files, "large.txt")},
    )
    [chosen] = choose.events(finished, "context.chosen")
    assert chosen["files"] == ["src/b.py", "src/c.py", "a.txt"]
    assert 43 < chosen["tokens"] <= 49
    text = choose.prompt().partition("[codebase]\n")[2] + choose.others().rpartition("\n\nsrc")[2]
    assert estimate_tokens(text) <= 49
    finished = choose([GREEN], "--context=chosen", "--context-tokens=1", paths=list(choose.files))
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
    [chosen] = choose.events(finished, "context.chosen")
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


def test_named_files_are_shown_first_and_alone(choose):
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
    [chosen] = choose.events(finished, "context.chosen")
    assert (chosen["context"], chosen["files"]) == ("named", ["src/d.py", "src/c.py", "uv.lock"])
    assert (chosen["total"], chosen["mapped"]) == (10, 0)
    assert choose.shown() == ["src/c.py", "src/d.py", "uv.lock"]
    assert "The codebase has 3 of 10 files" in choose.others()
    choose.add("ranked")
    project.write({"a.txt": "old\n"})
    choose([GREEN], "--files=a.txt", paths=["src/b.py"], map={"src/c.py": ["c"]})
    assert choose.shown() == ["a.txt"]
    assert choose.others().endswith("\nsrc/b.py\nsrc/c.py: c\n\n")


def test_named_files_that_cannot_be_shown_are_refused(choose):
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


# --- doctor ---------------------------------------------------------------------------------------


def test_doctor_checks_what_a_run_would_do(choose):
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
    choose.add("ranked")
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
