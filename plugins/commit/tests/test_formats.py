"""Response formats of plugins, through the command."""

from __future__ import annotations

import pytest

from code_commit_commit.prompts import system_prompt
from code_commit_testing import install_plugin

BAD, GOOD = "^^^a.txt\nbad\n^^^end\n", "^^^a.txt\ngood\n^^^end\n"
# Adds text to the end of files.
APPEND = """
from code_commit.plugin_api import hookimpl

INSTRUCTIONS = '''\
In this run, the text between '^^^' with a filename and '^^^end' does not replace
the file: it is added at its end.
'''


@hookimpl(optionalhook=True)
def code_commit_formats(settings):
    from code_commit_commit.hooks import ResponseFormat

    return [ResponseFormat("append", "add text to the end of files", INSTRUCTIONS, parse)]


def parse(response, tree):
    from code_commit.plugin_api import Change
    from code_commit_commit.hooks import MalformedResponse, read_blocks

    changes = []
    for block in read_blocks(response):
        old = tree.read(block.path)
        if old is None or block.content is None:
            raise MalformedResponse(f"{block.path}: text can only be added to a file that exists")
        changes.append(Change(block.path, old + block.content))
    return changes
"""
# A format of one name, whose `parse` and `watch` are given.
OTHER = """
from code_commit.plugin_api import Change, hookimpl
from code_commit_commit.hooks import MalformedResponse, ResponseFormat

@hookimpl
def code_commit_formats(settings):
    parse = {parse}
    return [ResponseFormat({name!r}, "help", "", parse, watch={watch})]
"""


def other(name: str, parse: str, watch: str = "None") -> str:
    return OTHER.format(name=name, parse=parse, watch=watch)


@pytest.fixture
def run(change, tmp_path):
    """Return a function that runs the command with plugins."""

    def run(replies: list[str], *arguments: str, settings: str = "", most: int = 9, **plugins: str):
        change.script(replies, f"[plugins.commit]\n{settings}\n")
        folders = [change.plugins]
        for name, code in plugins.items():
            folder = tmp_path / name
            if not folder.exists():
                install_plugin(folder, name, code, distribution=f"team-{name}")
            folders.append(folder)
        environ = {"CODE_COMMIT_SANDBOX": "off", "CODE_COMMIT_MAX_FILES": str(most)}
        return change.project.command(*arguments, plugins=folders, environ=environ)

    return run


def test_a_format_of_a_plugin_reads_the_response(run, change):
    finished = run([BAD, GOOD], "--format", "append", append=APPEND)
    assert finished.exit_code == 0, finished.stderr
    assert change.project.read("a.txt") == "old\nbad\ngood\n"
    first, repair = change.prompts()
    section = "\n[response format]\nIn this run, the text between"
    assert section in first
    assert section in repair


def test_the_section_of_a_format_stands_in_the_cached_part(run, change):
    settings = 'prompt_order = "cached"\nresponse_format = "append"'
    run([BAD, GOOD], settings=settings, append=APPEND)
    first, repair = change.prompts()
    common, _, _ = first.partition(system_prompt("initial_query"))
    assert "\n[response format]\nIn this run" in common
    assert repair.startswith(common)


def test_a_response_that_does_not_follow_the_format_is_sent_back(run, change):
    finished = run(
        ["^^^b.txt\nx\n^^^end\n", GOOD], settings='response_format = "append"', append=APPEND
    )
    assert finished.exit_code == 0, finished.stderr
    assert "b.txt: text can only be added to a file that exists" in change.prompts()[1]


@pytest.mark.parametrize("name", ["appendd", ""])
def test_an_unknown_format_is_an_error_before_the_first_call(run, name):
    flag = run([GOOD], "--format", name, append=APPEND)
    setting = run([GOOD], settings=f'response_format = "{name}"', append=APPEND)
    assert (flag.exit_code, setting.exit_code) == (2, 3)
    for finished in (flag, setting):
        assert f"there is no response format {name!r}" in finished.stderr
        assert "installed: auto, files, " in finished.stderr
        assert ("did you mean append" in finished.stderr) == (name == "appendd")


def test_a_flag_beats_the_setting(run, change):
    finished = run([GOOD], "--format", "files", settings='response_format = "none"', append=APPEND)
    assert finished.exit_code == 0, finished.stderr
    assert "[response format]" not in change.prompts()[0]


def test_unusable_formats_are_reported_and_left_out(run):
    plugins = {
        "one": other("same", "len"),
        "two": other("same", "len"),
        "three": other("files", "len"),
        "four": other("no name", "len"),
        "five": other("five", "5"),
        "six": OTHER.replace("return [Resp", "return [5]; [Resp").format(
            name="x", parse="x", watch="x"
        ),
    }
    finished = run([GOOD], **plugins)
    assert finished.exit_code == 0, finished.stderr
    for text in (
        "the response format 'same' is claimed by team-one and team-two",
        "the response format 'files' belongs to code-commit-commit",
        "'no name' is not a valid name of a response format",
        "`parse` and `watch` of the response format 'five' must be functions",
        "NameError",
    ):
        assert text in finished.stderr
    asked = run([GOOD], "--format", "same", **plugins)
    assert asked.exit_code == 2


@pytest.mark.parametrize(
    ("parse", "error"),
    [
        ("lambda text, tree: 1 / 0", "ZeroDivisionError"),
        ("lambda text, tree: exit()", "SystemExit"),
        ("lambda text, tree: None", "TypeError"),
        ("lambda text, tree: [5]", "`parse` returned 5 for a Change"),
    ],
)
def test_a_failing_format_refuses_the_response(run, change, parse, error):
    finished = run([GOOD, GOOD], "--format", "own", own=other("own", parse))
    assert finished.exit_code == 5
    assert "the response format own of team-own cannot read the response" in finished.stderr
    assert error in finished.stderr
    assert len(change.prompts()) == 1
    assert change.project.read("a.txt") == "old\n"


def test_the_limit_of_files_holds_for_every_format(run, change):
    parse = 'lambda text, tree: [Change(f"{number}.txt", b"") for number in range(3)]'
    arguments = ("--format", "own", "--repairs", "0")
    finished = run([GOOD], *arguments, most=2, own=other("own", parse))
    assert finished.exit_code == 5
    assert "the response changes more than 2 files" in finished.stderr


WATCHES = {
    "decides": ("lambda most: (lambda piece: 3)", "^^^"),
    "fails": ("lambda most: (lambda piece: 1 / 0)", "^^^a.txt\ngood\n^^^end\n"),
    "fails to start": ("lambda most: 1 / 0", "^^^a.txt\ngood\n^^^end\n"),
    "returns nonsense": ("lambda most: (lambda piece: 'x')", "^^^a.txt\ngood\n^^^end\n"),
}


@pytest.mark.parametrize("watch", WATCHES)
def test_a_broken_watch_decides_nothing(run, change, watch):
    code, read = WATCHES[watch]
    parse = 'lambda text, tree: [Change("a.txt", b"good\\n" + text.encode())]'
    finished = run([GOOD], "--format", "own", "--repairs", "0", own=other("own", parse, code))
    if watch == "decides":
        assert finished.exit_code == 5
        assert "the response is incomplete: it was stopped early" in finished.stderr
    else:
        assert finished.exit_code == 0, finished.stderr
        assert change.project.read("a.txt") == f"good\n{read}"


# Quotes the files that it reads.
QUOTE = """
from code_commit.plugin_api import hookimpl
from code_commit_commit.hooks import MalformedResponse, ResponseFormat, read_blocks

@hookimpl
def code_commit_formats(settings):
    return [ResponseFormat("quote", "help", "", parse)]

def parse(response, tree):
    if "good" in response:
        return read(response)
    texts = []
    for block in read_blocks(response):
        try:
            texts.append(repr(tree.read(block.path)))
        except (OSError, ValueError):
            texts.append("nothing")
    raise MalformedResponse(f"there stands {texts}")

def read(response):
    from code_commit.plugin_api import Change
    return [Change(block.path, block.content) for block in read_blocks(response)]
"""


@pytest.mark.parametrize("unseen", ["repair", "stop", "allow"])
def test_a_message_quotes_no_file_that_the_model_may_not_see(run, change, unseen):
    project = change.project
    project.write({"notes.txt": "notes\n", ".env": "PASSWORD=hunter22\n", "a.txt": "old\n"})
    project.write({"agent-config/codeRollup.txt": "--- a.txt ---\nold\n"})
    setting = f'unseen_file = "{unseen}"'

    def reads(path: str):
        replies = [f"^^^{path}\nbad\n^^^end\n", GOOD]
        return run(replies, "--format", "quote", settings=setting, quote=QUOTE)

    finished = reads("a.txt")
    assert finished.exit_code == 0, finished.stderr
    assert "there stands [\"b'old\\\\n'\"]" in change.prompts()[1]
    project.write({"a.txt": "old\n"})
    finished = reads("notes.txt")
    if unseen == "stop":
        assert finished.exit_code == 5
    else:
        assert finished.exit_code == 0, finished.stderr
        assert "The text of notes.txt, which is not in the codebase:" in change.prompts()[1]
    project.write({"a.txt": "old\n"})
    for path in (".env", "agent-config/config.toml", "../elsewhere", "build.sh"):
        finished = reads(path)
        assert finished.exit_code == 5, path
        assert len(change.prompts()) == 1
        assert "hunter22" not in finished.stderr


def test_a_file_that_a_person_changed_meanwhile_is_protected(run, change):
    change.project.command("rollup")
    change.project.write({"a.txt": "mine\n"})
    setting = 'changed_since_rollup = "protect"'
    arguments = ("--format", "quote", "--repairs", "0")
    finished = run([GOOD], *arguments, settings=setting, quote=QUOTE)
    assert finished.exit_code == 5
    assert "a.txt: Somebody changed this file after the model saw it.\n" in finished.stderr
    assert change.project.read("a.txt") == "mine\n"
