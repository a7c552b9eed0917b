"""The files that a repair shows, where the code is shown in part."""

from __future__ import annotations

GREEN = "^^^a.txt\ngood\n^^^end\n"
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
    assert [chosen["cause"] for chosen in choose.events(finished, "context.chosen")] == [
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
