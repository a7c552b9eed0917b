"""Responses without effect: those that change nothing, the same one twice, and queries that name a
file.
"""

from __future__ import annotations

import json

import pytest


def block(path: str, content: str) -> str:
    return f"^^^{path}\n{content}^^^end\n"


SAME = block("a.txt", "old\n")
RED = block("a.txt", "bad\n")
GREEN = block("a.txt", "good\n")
FLAKY = "test -e once || { touch once; exit 1; }\n"
NOTHING = {"written": [], "deleted": [], "nothing_to_change": True}


def builds(change) -> int:
    return len(list(change.project.run_folder.glob("*build.txt")))


@pytest.mark.parametrize(
    "response", [SAME, "^^^nosuch\n^^^delete\n", SAME + "^^^nosuch\n^^^delete\n"]
)
def test_a_response_that_changes_nothing_reaches_the_goal_if_the_build_is_green(change, response):
    change.project.write({"build.sh": "exit 0\n"})
    for name in ("user.name", "user.email"):
        change.project.git("config", "--global", name, "ada@example.org")
    finished = change([response], "--commit", "--json")
    assert finished.exit_code == 0, finished.stderr
    assert (change.result(), builds(change), len(change.prompts())) == (NOTHING, 1, 1)
    summary = "nothing to change: every file already has the content of the response, and the build passes"
    assert finished.events[-1]["data"]["summary"] == summary
    assert "changes.applied" not in [event["kind"] for event in finished.events]
    assert change.project.git("log", "--format=%s") == "start\n"


def test_a_response_that_changes_nothing_is_repaired_if_the_build_is_red(change):
    finished = change([SAME, GREEN])
    assert (finished.exit_code, change.result()) == (0, {"written": ["a.txt"], "deleted": []})
    assert "complaint about old\n" in change.prompts()[1]
    assert "could not be applied" not in change.prompts()[1]


@pytest.mark.parametrize("responses", [[SAME, SAME], [RED, RED], [RED, "other words\n" + RED]])
def test_the_same_files_are_built_again_after_a_flaky_build(change, responses):
    change.project.write({"build.sh": FLAKY})
    finished = change(responses, "--sandbox", "off")
    assert (finished.exit_code, builds(change)) == (0, 2), finished.stderr
    expected = NOTHING if responses[0] == SAME else {"written": ["a.txt"], "deleted": []}
    assert change.result() == expected


def test_a_build_that_is_red_twice_on_the_same_files_costs_a_normal_repair(change):
    assert change([RED, RED, GREEN]).exit_code == 0


@pytest.mark.parametrize(
    ("responses", "calls", "exit_code"),
    [
        (["Which one?"], 2, 5),
        ([" "], 2, 5),
        (["^^^a.txt\ngood\n"], 2, 5),
        ([block("`a.txt`", "good\n")], 2, 5),
        ([SAME], 2, 1),
        ([RED, "Which one?", "Which one?"], 3, 1),
        ([RED, RED, RED], 3, 1),
    ],
    ids=[
        "words",
        "empty",
        "cut",
        "target",
        "nothing new",
        "words after a red build",
        "the same change",
    ],
)
def test_the_same_response_without_effect_twice_ends_the_run(change, responses, calls, exit_code):
    finished = change([*responses, *responses[-1:] * 4])
    assert (finished.exit_code, len(change.prompts())) == (exit_code, calls)
    assert f"after {calls} attempts" in finished.stderr
    assert "; the last two responses are the same" in finished.stderr
    assert ".;" not in finished.stderr


@pytest.mark.parametrize(
    "responses", [["A", "B", "A", "B"], ["No change.", "Why?", "No change.\n"], ["A", SAME, "A"]]
)
def test_words_that_came_earlier_end_the_run(change, responses):
    finished = change([*responses, GREEN])
    assert (len(change.prompts()), change.project.read("a.txt")) == (3, "old\n")
    assert "; the last response is the same as an earlier one" in finished.stderr


def test_the_same_words_with_a_blank_behind_are_the_same(change):
    finished = change(["No change.", "No change.\n", GREEN])
    assert (finished.exit_code, len(change.prompts())) == (5, 2)


def test_the_same_words_after_a_change_are_not_the_same(change):
    assert change(["A", RED, "A", GREEN]).exit_code == 0


def test_other_words_cost_a_repair_each(change):
    finished = change(["one", "two", "three", GREEN])
    assert (finished.exit_code, len(change.prompts())) == (0, 4)


def test_a_dry_run_says_that_nothing_would_change(change):
    finished = change([SAME], "--dry-run")
    assert (finished.exit_code, finished.stdout, change.result()) == (0, "", NOTHING)
    assert (
        "nothing would change: every file already has this content; build.sh was not run\n"
        in finished.stderr
    )


def test_changes_that_later_responses_take_back_are_not_nothing_to_change(change):
    change.project.write({"build.sh": "grep -q old a.txt\n"})
    assert change([RED, SAME]).exit_code == 1
    assert "nothing_to_change" not in change.result()


def test_a_red_build_without_a_change_is_not_built_once_more(change):
    finished = change([SAME, "Which one?", "Which one?"])
    assert (finished.exit_code, builds(change)) == (1, 1)
    assert "; no response changed a file\n" in finished.stderr


@pytest.mark.parametrize(
    ("query", "words", "hint"),
    [
        ("-", "--query takes the text of the query", "use `--query-file -` to read it from stdin"),
        ("a.txt", "and a.txt is a file", "use `--query-file a.txt` to read the query from it"),
        (" a.txt\n", "and a.txt is a file", "use `--query-file a.txt` to read the query from it"),
        ("@a.txt", "and a.txt is a file", "use `--query-file a.txt` to read the query from it"),
        (
            "an issue.md",
            "and an issue.md is a file",
            "use `--query-file 'an issue.md'` to read the query from it",
        ),
    ],
)
def test_a_query_that_names_a_file_is_a_usage_error(change, query, words, hint):
    change.project.write({"an issue.md": "Do it.\n"})
    finished = change([GREEN], "--query", query)
    assert (finished.exit_code, words in finished.stderr, f"hint: {hint}\n" in finished.stderr) == (
        2,
        True,
        True,
    )
    assert not list(change.project.root.glob("logs/*/"))
    last = change([GREEN], "--json", "--query", query).events[-1]["data"]
    assert (last["outcome"], json.dumps(last["data"]["hint"])) == ("usage", json.dumps(hint))


@pytest.mark.parametrize("query", ["Change a.txt", "nosuch.md", "x" * 5000, "a"])
def test_other_queries_are_texts(change, query):
    assert change([GREEN], "--query", query).exit_code == 0
