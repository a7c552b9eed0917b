"""A response that asks for files instead of changing any."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from code_commit_commit.requested_files import watch_requests

GREEN = "^^^a.txt\ngood\n^^^end\n"


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
    assert [call["request"] for call in choose.events(finished, "call.started")] == [
        f"{number}-initial-query.txt" for number in (1, 2, 3)
    ]
    assert [chosen["cause"] for chosen in choose.events(finished, "context.chosen")] == [
        "query", "request", "request",
    ]  # fmt: skip
    assert "not shown: gone.py: There is no such file." in finished.stderr
    assert len(choose.events(finished, "attempt.started")) == 1


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
