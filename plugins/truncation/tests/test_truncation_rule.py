"""The rule by itself, and through the command with a real git and a real build."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from code_commit.plugin_api import Change, Refusal, Tree
from code_commit_testing import Finished, Project, install_plugin
from code_commit_truncation.rule import Truncation
from code_commit_truncation.settings import TruncationSettings

LONG = "".join(f"line_{number} = {number}\n" for number in range(40))
SHORT = LONG[: LONG.index("line_10 ")]
HOLLOW = LONG.replace("line_20 = 20\n", "# ... existing code ...\n")


class Files:
    """A tree of these files; reading an error raises it."""

    def __init__(self, files: Mapping[str, bytes | OSError]) -> None:
        self.files = files

    def read(self, path: str, limit: int | None = None) -> bytes | None:
        content = self.files.get(path)
        if isinstance(content, OSError):
            raise content
        return content


def judge(old: bytes | OSError | None, new: bytes | None, **settings) -> Refusal | None:
    refusals = judge_all({} if old is None else {"a.py": old}, {"a.py": new}, **settings)
    return next(iter(refusals), None)


def judge_all(
    old: Mapping[str, bytes | OSError], new: Mapping[str, bytes | None], **settings
) -> list[Refusal]:
    changes = [Change(path, content) for path, content in new.items()]
    return list(Truncation(TruncationSettings(**settings)).judge(changes, cast("Tree", Files(old))))


def test_a_file_that_shrinks_below_half_is_sent_back() -> None:
    refusal = judge(LONG.encode(), SHORT.encode())
    assert refusal is not None
    assert (refusal.path, refusal.rule, refusal.then) == ("a.py", "truncation", "repair")
    assert refusal.reason == (
        "The replacement has 10 lines and 110 bytes where the file has 40 lines and 500 bytes. Give the whole file, "
        "every line of it; if it must be this short, give the same replacement again."
    )
    assert "plugins.truncation.shrink_below = 0" in refusal.hint


def test_a_file_with_as_many_lines_as_the_setting_must_not_shrink() -> None:
    assert judge(LONG.encode(), SHORT.encode(), shrink_from_lines=40) is not None


def test_a_single_line_is_called_so() -> None:
    refusal = judge(LONG.encode(), b"x")
    assert refusal is not None
    assert refusal.reason.startswith("The replacement has 1 line and 1 byte where")


def test_a_file_that_shrinks_again_is_allowed_with_a_warning_until_it_is_whole() -> None:
    rule = Truncation(TruncationSettings())
    tree = cast("Tree", Files({"a.py": LONG.encode(), "b.py": LONG.encode()}))

    def thens(path: str, text: str) -> list[str]:
        return [refusal.then for refusal in rule.judge([Change(path, text.encode())], tree)]

    assert thens("a.py", SHORT) == ["repair"]
    assert thens("b.py", SHORT) == ["repair"]
    assert thens("a.py", SHORT) == thens("a.py", SHORT) == ["warn"]
    assert thens("a.py", LONG) == []
    assert thens("a.py", SHORT) == ["repair"]
    assert list(rule.judge([Change("a.py", b""), Change("c.py", LONG.encode())], tree)) == []
    assert thens("a.py", SHORT) == ["repair"]


def test_a_placeholder_is_sent_back_each_time() -> None:
    rule = Truncation(TruncationSettings())
    tree = cast("Tree", Files({"a.py": LONG.encode()}))
    for _ in range(2):
        assert [
            refusal.then for refusal in rule.judge([Change("a.py", HOLLOW.encode())], tree)
        ] == ["repair"]


def test_a_placeholder_is_sent_back_with_its_line_and_text() -> None:
    refusal = judge(LONG.encode(), HOLLOW.encode())
    assert refusal is not None
    assert refusal.then == "repair"
    assert "Line 21 " in refusal.reason
    assert "`# ... existing code ...`" in refusal.reason


def test_a_placeholder_in_a_file_that_shrinks_is_refused_twice() -> None:
    placeholder, shrunk = judge_all({"a.py": LONG.encode()}, {"a.py": b"# rest unchanged\n"})
    assert "Line 1 " in placeholder.reason
    assert "plugins.truncation.placeholders = false" in placeholder.hint
    assert "has 1 line and" in shrunk.reason


@pytest.mark.parametrize(
    ("old", "new", "settings"),
    [
        (LONG.encode(), None, {}),
        (LONG.encode(), LONG[len(LONG) // 2 :].encode(), {}),
        (LONG.encode(), SHORT.encode(), {"shrink_below": 0}),
        (LONG.encode(), SHORT.encode(), {"shrink_below": 0.2}),
        (LONG.encode(), b"", {"shrink_from_lines": 41}),
        (LONG.encode(), HOLLOW.encode(), {"placeholders": False}),
        (b"a\nb\nc\n", b"a\n", {}),
        (LONG.encode(), LONG.replace("\n", ";").encode(), {}),
        (None, b"x = 1\n", {}),
        (NotADirectoryError(), b"x = 1\n", {}),
    ],
    ids=[
        "removed",
        "half",
        "off",
        "less asked",
        "small",
        "comments off",
        "few lines",
        "reflowed",
        "new",
        "was a folder",
    ],
)
def test_other_replacements_are_allowed(old, new, settings) -> None:
    assert judge(old, new, **settings) is None


HALVES = [LONG[: LONG.index("line_20 ")], LONG[LONG.index("line_20 ") :]]


@pytest.mark.parametrize(
    "new",
    [
        {"a.py": "from b import *\n", "b.py": HALVES[0], "c.py": HALVES[1]},
        {
            "a.py": "from b import *\n",
            "b.py": "class B:\n" + "".join(f"    {line}\n" for line in LONG.splitlines()),
        },
        {"b.py": LONG, "a.py": ""},
        {"a.py": SHORT, "b.py": "".join(f"line_{number} = {number}\n" for number in range(10, 20))},
    ],
    ids=["split", "indented", "moved", "half of it"],
)
def test_lines_that_move_to_other_files_are_not_lost(new) -> None:
    written = {path: text.encode() for path, text in new.items()}
    assert judge_all({"a.py": LONG.encode()}, written) == []


@pytest.mark.parametrize(
    "others",
    [
        {"b.py": SHORT},
        {"b.py": "}\n\n" * 40},
        {"old.py": LONG},
        {"b.py": None},
    ],
    ids=["what stayed", "says nothing", "was there before", "removed"],
)
def test_lines_that_no_other_file_gains_are_lost(others) -> None:
    new = {"a.py": SHORT, **others}
    written = {path: None if text is None else text.encode() for path, text in new.items()}
    old = {"a.py": LONG.encode() + b"}\n\n" * 10, "old.py": LONG.encode(), "b.py": b"x\n"}
    assert [refusal.path for refusal in judge_all(old, written)] == ["a.py"]


@given(st.binary(max_size=400), st.binary(max_size=400), st.floats(0, 1), st.integers(0, 30))
def test_a_file_that_does_not_get_smaller_is_allowed(old, new, share, lines) -> None:
    settings = {"shrink_below": share, "shrink_from_lines": lines, "placeholders": False}
    refusal = judge(old, new, **settings)
    if len(new) >= len(old) or new.count(b"\n") > old.count(b"\n"):
        assert refusal is None
    assert judge(old, old, **settings) is None


@pytest.mark.parametrize(
    "settings",
    [
        {"shrink_below": 1.5},
        {"shrink_below": -1},
        {"shrink_below": float("nan")},
        {"shrink_from_lines": -1},
        {"placeholders": "perhaps"},
        {"shrink": 0.5},
    ],
)
def test_invalid_settings_are_rejected(settings) -> None:
    with pytest.raises(ValidationError):
        TruncationSettings(**settings)


# --- through the command ------------------------------------------------------------------------------------------


@pytest.fixture
def commit(tmp_path: Path):
    """Return a function that runs a commit with these replacements of a.py.

    It returns the result and the project.
    """
    plugins = install_plugin(
        tmp_path / "plugins",
        "scripted",
        "from code_commit_testing.scripted_provider import code_commit_providers\n",
    )
    project = Project.create(tmp_path, files={"a.py": LONG})

    def run(*contents: str, section: str = "") -> tuple[Finished, Project]:
        replies = [f"^^^a.py\n{content}^^^end\n" for content in contents]
        project.write(
            {
                "agent-config/config.toml": f'[providers]\ndefault_provider = "scripted.default"\n'
                f"[providers.scripted.default]\nreplies = {json.dumps(replies)}\n[plugins.truncation]\n{section}\n"
            }
        )
        return project.command("--json", "--sandbox=off", plugins=[plugins]), project

    return run


@pytest.mark.parametrize("bad", [SHORT, HOLLOW], ids=["shrunk", "placeholder"])
def test_a_truncated_response_is_repaired_and_never_written(commit, bad: str) -> None:
    whole = LONG + "more = 1\n"
    finished, project = commit(bad, whole)
    assert (finished.exit_code, project.read("a.py")) == (0, whole)
    assert [event["kind"] for event in finished.events].count("changes.refused") == 1
    prompt = (
        (project.run_folder / "2-repair-query.txt").read_text().partition("[build.sh output]")[2]
    )
    assert "Give the whole file" in prompt
    assert not (project.run_folder / "1-build.txt").exists()


def test_a_response_can_split_a_module(commit) -> None:
    finished, project = commit(f"from b import *\n^^^end\n^^^b.py\n{LONG}")
    assert (finished.exit_code, project.read("b.py")) == (0, LONG)


def test_an_answer_that_insists_to_shrink_a_file_stands_with_a_warning(commit) -> None:
    finished, project = commit(SHORT, SHORT)
    assert (finished.exit_code, project.read("a.py")) == (0, SHORT)
    warnings = [event["data"]["text"] for event in finished.events if event["kind"] == "message"]
    assert warnings == [
        "a.py: The replacement has 10 lines and 110 bytes where the file has 40 lines and 500 bytes."
    ]


def test_only_truncated_responses_end_with_exit_5_and_keep_the_project(commit) -> None:
    finished, project = commit(*[HOLLOW] * 4)
    assert (finished.exit_code, project.read("a.py")) == (5, LONG)
    assert "hint: set plugins.truncation.placeholders = false to allow it" in finished.stderr


def test_the_rule_can_be_turned_off(commit) -> None:
    finished, project = commit(
        "# ... existing code ...\n", section="shrink_below = 0\nplaceholders = false"
    )
    assert (finished.exit_code, project.read("a.py")) == (0, "# ... existing code ...\n")


def test_an_invalid_setting_ends_the_run_before_a_call(commit) -> None:
    finished, project = commit(LONG, section="shrink_below = 7")
    assert (finished.exit_code, "shrink_below" in finished.stderr) == (3, True)
    assert project.read("a.py") == LONG
