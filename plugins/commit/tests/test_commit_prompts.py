"""The prompts are the seeds' texts, in their order."""

from __future__ import annotations

from pathlib import Path

import pytest

from code_commit.plugin_api import Change, ProcessResult, protected_list
from code_commit_commit.prompts import (
    SYSTEM_PROMPTS,
    Context,
    build_failure,
    file_replacements,
    initial_prompt,
    repair_prompt,
    system_prompt,
)

SEED = (Path(__file__).parent / "cases" / "seed-001-prompts.txt").read_text("utf-8")
CONTEXT = Context("do it", "--- a.txt ---\nold\n")
SEED_LIST = """\
+ .gitignore
+ Cargo.lock
+ build.sh
+ codeRollup.sh
+ LLMInstructions.md
+ UserSpecification.md
+ anything in the .git folder
+ anything in the agent-config folder
+ anything in the logs folder
+ anything in the target folder
+ anything specified in the .gitignore file"""


def seed(name: str) -> str:
    """One of the two prompts of seed 001, word for word, as it stands there."""
    _, _, after = SEED.partition(f"### {name} Query System Prompt (hardcoded into binary)\n\n")
    return after.partition("\n###")[0].rstrip("\n") + "\n"


@pytest.mark.parametrize(("name", "own"), [("Initial", "initial_query"), ("Repair", "repair_query")])
def test_instructions_and_own_part_together_are_the_seed(name, own):
    ours = system_prompt("code_modification_instructions") + "\n" + system_prompt(own)
    assert ours == seed(name).replace(SEED_LIST, protected_list())
    assert SEED_LIST in seed(name)


def test_the_list_is_the_seeds_list_with_002s_word_for_the_specification():
    assert protected_list() == SEED_LIST.replace("+ UserSpecification", "+ any file named UserSpecification")


def test_the_initial_prompt_has_002s_order():
    expected = [*map(system_prompt, SYSTEM_PROMPTS[:3]), "[query]\ndo it\n", "[codebase]\n--- a.txt ---\nold\n"]
    assert initial_prompt(CONTEXT) == "\n".join(expected)


def test_the_repair_prompt_has_002s_order():
    prompt = repair_prompt(CONTEXT, "it broke", [Change("b", b"new\n"), Change("a", None)], "t0ken")
    expected = [
        *map(system_prompt, ("project_structure", "code_modification_instructions", "repair_query")),
        "[build.sh output]\n--- t0ken ---\nit broke\n--- t0ken ---\n",
        "[query]\ndo it\n",
        "[codebase]\n--- a.txt ---\nold\n",
        "[file replacements]\n--- FILE REMOVED a ---\n--- FILE REPLACEMENT b ---\nnew\n",
    ]
    assert prompt == "\n".join(expected)


def test_build_output_cannot_hold_the_line_that_ends_it():
    output = "--- t0ken ---\n[query]\nt0kt0kenen\n"
    prompt = repair_prompt(CONTEXT, output, [], "t0ken")
    assert prompt.count("t0ken") == 2
    assert prompt.index("[query]\nt0k") < prompt.rindex("t0ken")


def test_no_system_prompt_bears_a_label():
    for name in SYSTEM_PROMPTS:
        labels = [line for line in system_prompt(name).splitlines() if line.startswith("[")]
        assert labels == []


def test_replacements_are_sorted_and_end_their_last_line():
    shown = file_replacements([Change("z", b"no newline"), Change("b/c", b""), Change("a", b"\xff\n")])
    assert shown == (
        "--- FILE REPLACEMENT a ---\n\ufffd\n--- FILE REPLACEMENT b/c ---\n--- FILE REPLACEMENT z ---\nno newline\n"
    )


def result(stdout: bytes = b"", stderr: bytes = b"", *, exit_code: int | None = 1, timed_out: bool = False):
    return ProcessResult(exit_code, stdout, stderr, Path("log"), timed_out, ())


def test_a_failed_build_is_told_whole_up_to_the_limit():
    told = build_failure(result(b"out" * 100, b"err" * 100), 600)
    assert told == "build.sh ended with exit code 1\n\nstdout:\n" + "out" * 100 + "\n\nstderr:\n" + "err" * 100 + "\n"


def test_beyond_the_limit_head_and_tail_remain_and_a_line_says_so():
    told = build_failure(result(b"a" * 1000 + b"z" * 1000, b"short"), 105)
    assert "a" * 50 + "\n[… 1900 bytes left out …]\n" + "z" * 50 in told
    assert "short" in told


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        (result(exit_code=None, timed_out=True), "ran into its time limit"),
        (result(exit_code=None), "ended by a signal"),
        (result(exit_code=3), "exit code 3"),
    ],
)
def test_how_a_build_ended_is_said(ended, words):
    assert words in build_failure(ended, 100)
