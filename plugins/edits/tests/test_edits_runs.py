"""Runs with the format `edits`, through the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from code_commit_testing import Finished, Project, install_plugin

SCRIPTED = "from code_commit_testing.scripted_provider import code_commit_providers\n"
INSTRUCTIONS = Path(__file__).parent.parent / "src/code_commit_edits/instructions.txt"
LINES = [f"line {number}\n" for number in range(1, 1001)]
FILES = {"big.txt": "".join(LINES), "small.txt": "one\ntwo\n"}


def edit(path: str, search: str, replace: str) -> str:
    marks = ("<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE")
    return f"^^^{path}\n{marks[0]}\n{search}{marks[1]}\n{replace}{marks[2]}\n^^^end\n"


BAD = edit("big.txt", "line 500\n", "bad\n")
GOOD = edit("big.txt", "bad\n", "good\n")


@pytest.fixture
def project(tmp_path) -> Project:
    build = "grep -q good big.txt || { echo not good; exit 1; }\n"
    return Project.create(tmp_path, files=FILES, build=build, rollup=None)


@pytest.fixture
def run(project, tmp_path):
    """Return a function that runs the command with scripted replies."""
    plugins = [install_plugin(tmp_path / "plugins", "scripted", SCRIPTED)]

    def run(*replies: str, settings: str = 'response_format = "edits"', arguments=()) -> Finished:
        config = (
            '[providers]\ndefault_provider = "scripted.default"\n[providers.scripted.default]\n'
        )
        config += f"replies = {json.dumps(replies)}\n[plugins.commit]\n{settings}\n"
        project.write({"agent-config/config.toml": config})
        environ = {"CODE_COMMIT_SANDBOX": "off"}
        return project.command(
            "--query", "Make it good.", *arguments, plugins=plugins, environ=environ
        )

    return run


def prompts(project: Project) -> list[str]:
    files = project.run_folder.glob("[0-9]*-query.txt")
    return [path.read_text("utf-8") for path in sorted(files)]


def test_a_run_edits_a_large_file_and_its_repairs_show_the_changed_part(project, run):
    finished = run(edit("big.txt", "lime 500\n", "x\n"), BAD, GOOD)
    assert finished.exit_code == 0, finished.stderr
    assert project.read("big.txt") == FILES["big.txt"].replace("line 500\n", "good\n")
    first, refused, red = prompts(project)
    section = f"\n[response format]\n{INSTRUCTIONS.read_text('utf-8')}\n"
    assert all(section in prompt for prompt in (first, refused, red))
    assert "big.txt: the text to search of the edit in line 2 of the response" in refused
    assert "The nearest place is line 500:\nline 500\n" in refused
    replaced = red.partition("[file replacements]\n")[2]
    assert replaced.startswith("--- FILE REPLACEMENT big.txt: lines 470 to 530 of 1000; the others")
    assert "line 499\nbad\nline 501\n" in replaced
    assert "line 600" not in replaced


def test_a_repair_shows_what_the_build_made_of_a_file(project, run):
    build = "sed -i 's/bad/built/' big.txt; grep -q good big.txt\n"
    project.write({"build.sh": build})
    finished = run(BAD, edit("big.txt", "built\n", "good\n"))
    assert finished.exit_code == 0, finished.stderr
    assert "line 499\nbuilt\nline 501\n" in prompts(project)[1]


def test_a_file_that_the_model_has_not_seen_comes_first(project, run):
    project.command("rollup", "--exclude", "small.txt")
    both = BAD.replace("bad", "good") + edit("small.txt", "two\n", "three\n")
    finished = run(both.replace("two", "tow"), both)
    assert finished.exit_code == 0, finished.stderr
    assert project.read("small.txt") == "one\nthree\n"
    repair = prompts(project)[1]
    assert "The text of small.txt, which is not in the codebase:" in repair
    assert "nearest place" not in repair


def test_an_edit_that_fits_a_file_that_changed_since_the_rollup_is_applied(project, run):
    project.command("rollup")
    mine = FILES["big.txt"].replace("line 1\n", "mine\n")
    project.write({"big.txt": mine})
    settings = 'response_format = "edits"\nchanged_since_rollup = "protect"'
    finished = run(BAD.replace("bad", "good"), settings=settings)
    assert finished.exit_code == 0, finished.stderr
    assert project.read("big.txt") == mine.replace("line 500\n", "good\n")


def test_the_example_of_the_instructions_is_no_response(project, run):
    example = INSTRUCTIONS.read_text("utf-8").partition("file:\n\n")[2].partition("\nThe above")[0]
    project.write({"src/greeting.rs": '    let greeting = format!("Hello {name}");\n'})
    finished = run(example, arguments=["--repairs", "0"])
    assert finished.exit_code == 5
    assert "repeats the block `^^^src/greeting.rs` of its prompt" in finished.stderr


def test_a_protected_file_ends_the_run_whether_or_not_the_edit_fits(project, run):
    for search in ("grep -q good big.txt || { echo not good; exit 1; }\n", "not there\n"):
        finished = run(edit("build.sh", search, "exit 0\n") + BAD, GOOD)
        assert finished.exit_code == 5
        assert "build.sh: " in finished.stderr
        assert len(prompts(project)) == 1


@pytest.mark.parametrize(
    ("files", "arguments", "line"),
    [
        ({}, [], "response format edits: big.txt has more than 400 lines"),
        (
            {"big.txt": "short\n"},
            [],
            "response format files: no file has more than 400 lines",
        ),
        (
            {},
            ["--disable-plugin", "edits"],
            "big.txt has more than 400 lines, but edits is not installed: in a checkout of code-commit",
        ),
    ],
)
def test_auto_selects_the_format_and_says_why(project, run, files, arguments, line):
    project.write(files)
    reply = f"^^^big.txt\ngood\n{FILES['big.txt']}^^^end\n"
    finished = run(reply, settings='response_format = "auto"', arguments=arguments)
    assert finished.exit_code == 0, finished.stderr
    assert line in finished.stderr


def test_init_suggests_the_format_for_large_files(project):
    project.git("commit", "--quiet", "--allow-empty", "--message", "all")
    project.write({"build.sh": "true\n"})
    hint = (
        'big.txt has more than 400 lines. With the setting response_format = "auto" in '
        "[plugins.commit], "
    )
    assert hint in project.command("init").stderr
    assert hint not in project.command("init", "--disable-plugin", "edits").stderr
    project.write({"agent-config/config.toml": '[plugins.commit]\nresponse_format = "auto"\n'})
    assert hint not in project.command("init").stderr
    project.write({"agent-config/config.toml": "", "big.txt": "short\n"})
    assert "400 lines" not in project.command("init").stderr


def test_without_the_plugin_the_error_says_how_to_install_it(run):
    finished = run(GOOD, arguments=["--disable-plugin", "edits"])
    assert finished.exit_code == 3
    assert "response_format in [plugins.commit]: there is no response format 'edits'" in (
        finished.stderr
    )
    assert 'for edits: in a checkout of code-commit, pip install ".[edits]"' in finished.stderr


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_file_keeps_its_line_ends_and_its_mark(project, run, end):
    text = "\ufeff" + FILES["big.txt"].replace("\n", end)
    (project.root / "big.txt").write_bytes(text.removesuffix(end).encode())
    finished = run(BAD.replace("bad", "good"))
    assert finished.exit_code == 0, finished.stderr
    expected = text.replace(f"line 500{end}", f"good{end}").removesuffix(end)
    assert (project.root / "big.txt").read_bytes() == expected.encode()
    assert "it keeps its" not in finished.stderr
