"""Pure functions: the table of transitions, the texts, the selection of files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import code_commit_planner
from code_commit.plugin_api import printable
from code_commit_planner import machine
from code_commit_planner.agents import prompts
from code_commit_planner.agents.changes import shortened_diffs
from code_commit_planner.agents.coach_and_player import COACH_TOOLS, PLAYER_TOOLS, approves
from code_commit_planner.agents.display import feedback_lines, tool_line
from code_commit_planner.dialog import messages
from code_commit_planner.dialog.answers import meaning, understood
from code_commit_planner.dialog.text import columns, fill
from code_commit_planner.git.selection import select
from code_commit_planner.machine import ASKING, FINAL, TABLE, Event, State, next_state
from code_commit_planner.plan_folder.requirements import (
    CURRENT_REQUIREMENTS,
    ORIGINAL_REQUIREMENTS,
    has_heading,
    original_of,
    with_original,
    with_tag,
)
from code_commit_planner.plan_folder.temporary import is_temporary
from code_commit_planner.plan_folder.todo import read_todos
from code_commit_planner.refine.planner import PLANNER_TOOLS
from code_commit_toolbox.outcome import CalledTool
from code_commit_workspace import NextCommit, StatusEntry

SEED = (Path(__file__).parent / "cases/seed-003.txt").read_text("utf-8")


# The table


def reachable(start: State) -> set[State]:
    reached = set()
    new = {start}
    while new:
        reached |= new
        steps = {after for (before, _), after in TABLE.items() if before in new}
        if new & ASKING:
            steps |= {State.QUIT, State.INPUT_ENDED}
        new = steps - reached
    return reached


def test_every_state_is_reached_and_none_is_a_dead_end():
    assert reachable(State.STARTUP) == set(State)
    assert {before for before, _ in TABLE} == set(State) - FINAL
    for state in set(State) - FINAL:
        assert State.NEW_REQUIREMENTS in reachable(state)


def test_every_event_is_in_the_table_and_others_are_errors():
    events = {event for _, event in TABLE} | {Event.QUIT, Event.INPUT_ENDED}
    assert events == set(Event)
    with pytest.raises(KeyError):
        next_state(State.STARTUP, Event.YES)
    with pytest.raises(KeyError):
        next_state(State.COACH_AND_PLAYER, Event.QUIT)  # this state asks no question


@pytest.mark.parametrize("state", sorted(ASKING, key=str))
def test_a_person_can_quit_at_every_question(state):
    assert next_state(state, Event.QUIT) is State.QUIT
    assert next_state(state, Event.INPUT_ENDED) is State.INPUT_ENDED


def test_the_transitions_match_the_seed():
    path = [
        (State.STARTUP, Event.WITHOUT_GIT),
        (State.LEFTOVERS, Event.NOTHING_LEFT),
        (State.NEW_REQUIREMENTS, Event.GO),
        (State.REFINE, Event.UPDATED),
        (State.APPROVAL, Event.YES),
        (State.IMPLEMENT, Event.DONE),
        (State.COACH_AND_PLAYER, Event.DONE),
        (State.COMPLETE, Event.YES),
    ]
    state = State.STARTUP
    for expected, event in path:
        assert state is expected
        state = next_state(state, event)
    assert next_state(State.COMMIT, Event.DONE) is State.NEW_REQUIREMENTS
    assert next_state(State.RECOVERY_ATTEMPTED, Event.DONE) is State.IMPLEMENT
    assert next_state(State.RECOVERY_SKIPPED, Event.DONE) is State.COMPLETE


# Texts of the seed


@pytest.mark.parametrize(
    "text",
    [
        prompts.PLANNER_SYSTEM,
        f'"{ORIGINAL_REQUIREMENTS}"',
        f"`{CURRENT_REQUIREMENTS}`",
        f'"""{messages.REFINE}"""',
        '"""'
        + messages.RECOVERY.replace(
            "<found>",
            "- current_requirements.md from <DATE AND TIME>\n- todo.g3.md <IF PRESENT, SHOW CONTENTS>",
        ),
        f'"{messages.FILE_NOT_FOUND.replace("<codepath>", "<path>")}"',
    ],
)
def test_texts_of_the_seed_are_word_for_word(text):
    assert text in SEED


def test_the_found_files_are_worded_as_in_the_seed():
    assert messages.FOUND_REQUIREMENTS.replace("<when>", "<DATE AND TIME>") in SEED
    assert messages.FOUND_TODO.replace("<contents>", "<IF PRESENT, SHOW CONTENTS>") in SEED


def test_all_prompts_are_in_one_module():
    package = Path(code_commit_planner.__file__).parent
    for module in package.rglob("*.py"):
        if module.name != "prompts.py":
            text = module.read_text("utf-8")
            assert "You are " not in text
            assert not re.search(r'system="|prompt="', text)


def test_inserted_text_is_not_filled_again():
    assert fill("<a> <b> <a>", a="<b>", b="2") == "<b> 2 <b>"
    assert fill("{{CURRENT}} <c>", c="{x} <c>") == "{{CURRENT}} {x} <c>"


def test_the_tools_of_each_role():
    assert PLANNER_TOOLS == (
        "read_file",
        "write_file",
        "shell",
        "code_search",
        "str_replace",
        "final_output",
    )
    assert "todo_write" in PLAYER_TOOLS
    assert not {"todo_write", "write_file", "str_replace"} & set(COACH_TOOLS)


# Requirements and todos


def test_the_tag_is_added_once_at_the_top():
    marked = with_tag("old words\n")
    assert marked == f"{ORIGINAL_REQUIREMENTS}\n\nold words\n"
    assert with_tag(marked) == marked
    assert with_tag("{{CURRENT REQUIREMENTS}}\nx") == "{{CURRENT REQUIREMENTS}}\nx"
    assert with_tag("a\r\nb").startswith(f"{ORIGINAL_REQUIREMENTS}\r\n\r\na")
    assert with_tag("\ufeffa") == f"\ufeff{ORIGINAL_REQUIREMENTS}\n\na"


@pytest.mark.parametrize(
    "line",
    [
        "{{CURRENT REQUIREMENTS}}",
        "# {{CURRENT REQUIREMENTS}}",
        "**{{CURRENT REQUIREMENTS}}**:\r",
        "## `{{CURRENT REQUIREMENTS}}` ##",
    ],
)
def test_a_heading_is_on_its_own_line(line):
    assert has_heading(f"x\n{line}\ny")


def test_a_mention_is_not_a_heading():
    assert not has_heading("put it under {{CURRENT REQUIREMENTS}} please")


LINES = st.lists(
    st.sampled_from(
        ["", "a", "b", " c", "d\r", "\udcff", ORIGINAL_REQUIREMENTS, CURRENT_REQUIREMENTS]
    )
).map("\n".join)


@given(LINES, LINES)
def test_the_original_section_is_put_back_and_the_rest_stays(before, after):
    original = original_of(before)
    mended = with_original(after, original)
    wanted = [line.rstrip() for line in original.split("\n") if line.rstrip()]
    present = iter(line.rstrip() for line in original_of(mended).split("\n"))
    assert all(line in present for line in wanted)
    assert with_original(mended, original) == mended
    current = [line for line in after.split("\n") if CURRENT_REQUIREMENTS in line]
    assert [line for line in mended.split("\n") if CURRENT_REQUIREMENTS in line] == current
    if mended != after:
        assert original_of(mended).strip("\n") == original.rstrip().strip("\n")


@pytest.mark.parametrize(
    ("text", "all_of_them", "open_ones"),
    [
        ("", 0, 0),
        ("just words\n", 0, 0),
        ("- [x] a\n* [X] b\n", 2, 0),
        ("- [ ] a\n- [x] b\n  - [ ] c\n1. [x] d\n", 4, 2),
        ("- [-] a\r\n- [x] b\r\n", 2, 1),
    ],
)
def test_todos_are_counted(text, all_of_them, open_ones):
    todos = read_todos(text)
    assert (todos.all, len(todos.open)) == (all_of_them, open_ones)
    assert todos.done is (all_of_them > 0 and open_ones == 0)


# Answers


def test_the_end_of_input_means_quit_and_never_yes():
    assert meaning(None) is Event.INPUT_ENDED
    assert understood(None, {Event.YES: Event.YES}, empty=Event.YES) is Event.INPUT_ENDED


@pytest.mark.parametrize(
    ("typed", "event"),
    [
        ("y", Event.YES),
        (" YES ", Event.YES),
        ("[N]", Event.NO),
        ("Q", Event.QUIT),
        ("quit", Event.QUIT),
        ("'yes'", Event.YES),
        ("yes, but", None),
        ("", None),
    ],
)
def test_answers_are_understood(typed, event):
    assert meaning(typed) is event


def test_approval_is_on_its_own_line():
    for text in (
        "Well.\nIMPLEMENTATION_APPROVED\nGood.",
        " IMPLEMENTATION_APPROVED \r\nGood.",
        "**IMPLEMENTATION_APPROVED**",
        "## `IMPLEMENTATION_APPROVED`.",
        "- **IMPLEMENTATION_APPROVED.**",
    ):
        assert approves(text)
    for text in (
        "",
        "Not IMPLEMENTATION_APPROVED",
        "not IMPLEMENTATION_APPROVED yet",
        "> IMPLEMENTATION_APPROVED",
        "IMPLEMENTATION_APPROVED?",
        "implementation_approved",
    ):
        assert not approves(text)


# Staging


@pytest.mark.parametrize(
    "path",
    [
        "target/debug/x", "a/target/x", "node_modules/a/b.js", "x/__pycache__/m.pyc", ".venv/bin/python", "app.log",
        "a/b.tmp", "x.bak", ".DS_Store", "a/Thumbs.db", "m.pyc", "tmp/x.txt", "a/temp/y", ".pytest_cache/v/x",
        ".mypy_cache/x", ".ruff_cache/x", ".a.swp", "a.py~", "#a.py#", ".#a.py", "DEBUG.LOG",
    ],
)  # fmt: skip
def test_temporary_files_are_recognized(path):
    assert is_temporary(path)


@pytest.mark.parametrize(
    "path",
    [
        "src/target.py",
        "docs/logs.md",
        "templates/x",
        "temporary.md",
        "a.logs",
        "log",
        "tmpfile",
        "src/attempt/x",
    ],
)
def test_other_files_are_not_temporary(path):
    assert not is_temporary(path)


names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1).map(
    lambda name: name.strip("/") or "x"
)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["??", " M", "M ", "MM", "A ", "AM", " D", "D ", "UU", "AA"]), names
        ),
        unique_by=lambda row: row[1],
    )
)
def test_the_status_supports_any_file_name(rows):
    listing = "".join(f"{state} {path}\0" for state, path in rows)
    top = Path("/project")
    entries = NextCommit(lambda *_, **__: listing.encode(), top, top, hooks=False).status()
    assert [(entry.index + entry.tree, entry.path) for entry in entries] == rows
    chosen = select(entries, {rows[0][1]} if rows else (), "")
    everything = [*chosen.stage, *chosen.temporary, *chosen.unclear]
    assert len(everything) == len(set(everything))
    for state, path in rows[1:]:
        assert (path in everything) is (state[1] != " " or state in {"UU", "AA"})
        assert (path in chosen.unclear) is (state in {"UU", "AA"})
    assert not rows or rows[0][1] not in everything


def test_a_codebase_may_be_in_a_temporary_folder():
    entries = [
        StatusEntry(" ", "M", "tmp/app/src/a.py"),
        StatusEntry("?", "?", "tmp/app/tmp/b"),
        StatusEntry("?", "?", "tmp/c"),
    ]
    assert select(entries, (), "tmp/app/").stage == ("tmp/app/src/a.py",)


def test_a_nested_repository_is_not_staged():
    assert select([StatusEntry("?", "?", "inner/")], (), "").unclear == ("inner/",)


# Output


@dataclass(frozen=True)
class Diff:
    path: str
    text: str
    added: int = 0
    removed: int = 0


@given(st.lists(st.integers(1, 3000), min_size=1, max_size=60), st.integers(1000, 50_000))
def test_each_diff_shows_its_beginning_and_how_many_lines_are_left_out(sizes, limit):
    files = [Diff(str(at), f"--- {at}\n" + "+line\n" * size) for at, size in enumerate(sizes)]
    texts = list(shortened_diffs(files, limit))
    notes = [text for text in texts if text.startswith("[the diffs of ")]
    shown = [text for text in texts if text not in notes]
    assert len(shown) == min(len(files), limit // 200)
    assert bool(notes) == (len(shown) < len(files))
    assert sum(map(len, shown)) <= limit + 80 * len(shown)
    for text in shown:
        head, *lines = text.split("\n")
        left_out = re.fullmatch(r"\[\.\.\. ([\d,]+) lines? .*", lines[-1])
        count = lines.count("+line")
        if left_out:
            count += int(left_out[1].replace(",", ""))
        assert count == sizes[int(head.removeprefix("--- "))]


@given(st.sampled_from(["shell", "read_file", "code_search"]), st.text(), st.text(), st.booleans())
def test_a_call_is_one_line_of_80_characters(name, arguments, text, is_error):
    line = tool_line("player", CalledTool(name, arguments, text, is_error, 0.1))
    assert columns(line) <= 80
    assert line == printable(line, newlines=False)


def test_a_call_shows_its_main_argument():
    called = CalledTool(
        "shell",
        '{"command": "make test"}',
        "ended with exit code 2\n--- output ---\nno",
        False,
        1.0,
    )
    assert tool_line("player", called) == "  player: shell make test  -> exit code 2"
    searched = CalledTool(
        "code_search", '{"searches": [{"pattern": "a"}, {"pattern": "b"}]}', "", False, 1.0
    )
    assert tool_line("coach", searched) == "  coach: code_search a, b"


def test_feedback_is_shown_up_to_25_lines():
    text = "\n\n".join(f"line {number}" for number in range(25))
    assert feedback_lines(text, "x").split("\n") == [f"  line {number}" for number in range(25)]
    shown = feedback_lines(text + "\n" + "word " * 40, "coach-transcript.jsonl").split("\n")
    assert len(shown) == 25
    assert shown[-1] == "  ... 4 more lines, see coach-transcript.jsonl"
    assert all(len(line) <= 80 for line in shown)
    assert all(columns(line) <= 80 for line in feedback_lines("\u5b57 " * 100, "x").split("\n"))


def test_the_machine_has_no_input_or_output():
    imports = re.findall(
        r"^(?:from|import) .*", Path(machine.__file__).read_text("utf-8"), re.MULTILINE
    )
    assert imports == ["from __future__ import annotations", "from enum import Enum"]
