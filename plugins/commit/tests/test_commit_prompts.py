"""The prompts have the texts of the seeds, in the order of seed 002."""

from __future__ import annotations

from pathlib import Path

import pytest

from code_commit.plugin_api import Change, ProcessResult, protected_list
from code_commit_commit.prompts import (
    SYSTEM_PROMPTS,
    Context,
    Section,
    failure_text,
    file_replacements,
    initial_prompt,
    repair_prompt,
    system_prompt,
)

SEED = (Path(__file__).parent / "cases" / "seed-001-prompts.txt").read_text("utf-8")
CONTEXT = Context("do it", "--- a.txt ---\nold\n")
SECTIONS = (Section("conventions", "Use tabs.", is_constant=True), Section("shown", "b.txt\n"))
REPLACED = file_replacements([Change("b", b"new\n")])
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
    """Return one of the two prompts of seed 001, word for word."""
    _, _, after = SEED.partition(f"### {name} Query System Prompt (hardcoded into binary)\n\n")
    return after.partition("\n###")[0].rstrip("\n") + "\n"


@pytest.mark.parametrize(
    ("name", "own"), [("Initial", "initial_query"), ("Repair", "repair_query")]
)
def test_the_instructions_and_the_query_prompt_are_the_text_of_the_seed(name, own):
    ours = system_prompt("code_modification_instructions") + "\n" + system_prompt(own)
    assert ours == seed(name).replace(SEED_LIST, protected_list())
    assert SEED_LIST in seed(name)


def test_the_protected_list_is_that_of_the_seeds():
    assert protected_list() == SEED_LIST.replace(
        "+ UserSpecification", "+ any file named UserSpecification"
    )


def test_the_initial_prompt_has_the_order_of_seed_002():
    expected = [
        *map(system_prompt, SYSTEM_PROMPTS[:3]),
        "[query]\ndo it\n",
        "[codebase]\n--- a.txt ---\nold\n",
    ]
    assert initial_prompt(CONTEXT) == ("\n".join(expected),)


def test_the_repair_prompt_has_the_order_of_seed_002():
    prompt = repair_prompt(
        CONTEXT,
        "it broke",
        file_replacements([Change("b", b"new\n"), Change("a", None)]),
        "t0ken",
    )
    expected = [
        *map(
            system_prompt, ("project_structure", "code_modification_instructions", "repair_query")
        ),
        "[build.sh output]\n--- t0ken ---\nit broke\n--- t0ken ---\n",
        "[query]\ndo it\n",
        "[codebase]\n--- a.txt ---\nold\n",
        "[file replacements]\n--- FILE REMOVED a ---\n--- FILE REPLACEMENT b ---\nnew\n",
    ]
    assert prompt == ("\n".join(expected),)


def test_the_cached_order_begins_with_what_stays_the_same():
    first = initial_prompt(CONTEXT, "cached")
    repair = repair_prompt(CONTEXT, "it broke", REPLACED, "t0ken", "cached")
    same = [
        *map(system_prompt, SYSTEM_PROMPTS[:2]),
        "[query]\ndo it\n",
        "[codebase]\n--- a.txt ---\nold\n",
        "",
    ]
    assert first == ("\n".join(same), system_prompt("initial_query"))
    replaced = f"[file replacements]\n{REPLACED}"
    output = "[build.sh output]\n--- t0ken ---\nit broke\n--- t0ken ---\n"
    assert repair == ("\n".join(same), "\n".join([system_prompt("repair_query"), output, replaced]))


def test_sections_follow_the_sentences_of_the_seeds():
    sections = "[conventions]\nUse tabs.\n\n[shown]\nb.txt\n\n"
    (first,) = initial_prompt(CONTEXT, sections=SECTIONS)
    (repair,) = repair_prompt(CONTEXT, "it broke", "", "t0ken", sections=SECTIONS)
    assert f"{system_prompt('initial_query')}\n{sections}[query]\n" in first
    assert f"{system_prompt('repair_query')}\n{sections}[build.sh output]\n" in repair
    assert first.replace(sections, "") == initial_prompt(CONTEXT)[0]
    assert repair.replace(sections, "") == repair_prompt(CONTEXT, "it broke", "", "t0ken")[0]


def test_the_cached_order_begins_with_the_constant_sections():
    same, first = initial_prompt(CONTEXT, "cached", SECTIONS)
    start, repair = repair_prompt(CONTEXT, "it broke", "", "t0ken", "cached", SECTIONS)
    plain, _ = initial_prompt(CONTEXT, "cached")
    assert same == start
    assert same == plain.replace("[query]\n", "[conventions]\nUse tabs.\n\n[query]\n")
    assert first == f"{system_prompt('initial_query')}\n[shown]\nb.txt\n"
    assert repair.startswith(f"{system_prompt('repair_query')}\n[shown]\nb.txt\n\n[build.sh")


def test_build_output_cannot_contain_its_end_marker():
    output = "--- t0ken ---\n[query]\nt0kt0kenen\n"
    (prompt,) = repair_prompt(CONTEXT, output, "", "t0ken")
    assert prompt.count("t0ken") == 2
    assert prompt.index("[query]\nt0k") < prompt.rindex("t0ken")


def test_no_system_prompt_contains_a_label():
    for name in SYSTEM_PROMPTS:
        labels = [line for line in system_prompt(name).splitlines() if line.startswith("[")]
        assert labels == []


def test_replacements_are_sorted_and_end_with_a_newline():
    shown = file_replacements(
        [Change("z", b"no newline"), Change("b/c", b""), Change("a", b"\xff\n")]
    )
    assert shown == (
        "--- FILE REPLACEMENT a ---\n\ufffd\n--- FILE REPLACEMENT b/c ---\n--- FILE REPLACEMENT z ---\nno newline\n"
    )


def result(output: bytes = b"", *, exit_code: int | None = 1, **more):
    return ProcessResult(exit_code, output, Path("log"), **more)


def test_a_red_build_has_its_whole_output():
    text = failure_text("", result(b"out\nerr"))
    assert text == "build.sh ended with exit code 1\n\nout\nerr\n"


def test_an_unusable_response_has_the_reason_and_the_latest_build():
    assert failure_text("no block", None) == (
        "The last response could not be applied, and build.sh was not run. The reason:\nno block\n"
    )
    assert failure_text("no block", result(b"out\n")) == (
        "The last response could not be applied, and build.sh was not run. The reason:\nno block\n\n"
        "The latest output of build.sh, which was run after an earlier response:\n\n"
        "build.sh ended with exit code 1\n\nout\n"
    )


@pytest.mark.parametrize(
    ("build", "ending"),
    [
        (result(exit_code=None, time_limit=60.0), "build.sh ran into its time limit of 60 s"),
        (result(exit_code=None, signal=9), "build.sh was ended by signal 9 (SIGKILL)"),
        (result(exit_code=3), "build.sh ended with exit code 3"),
    ],
)
def test_a_failed_build_shows_how_it_ended(build, ending):
    assert failure_text("", build).startswith(f"{ending}\n")
