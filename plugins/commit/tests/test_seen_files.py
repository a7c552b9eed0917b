"""What a model may change in later attempts, and files that it has not seen, through the command."""

from __future__ import annotations

import json

import pytest

from code_commit_testing import Project, install_plugin

BAD, GOOD = "^^^x.txt\nbad\n^^^end\n", "^^^x.txt\ngood\n^^^end\n"
BUILD = "grep -q good x.txt\n"


def write(path: str, content: str = "new\n") -> str:
    return f"^^^{path}\n{content}^^^end\n"


def delete(path: str) -> str:
    return f"^^^{path}\n^^^delete\n"


@pytest.fixture
def project(tmp_path) -> Project:
    files = {"a.txt": "a\n", "b.py": "b\n", "x.txt": "x\n"}
    return Project.create(tmp_path, files=files, build=BUILD, rollup=None)


# What earlier attempts or their builds did to b.py, and the files that a repair names again.
EARLIER = {
    "writes": ([write("b.py") + BAD], BUILD, ["b.py"]),
    "deletes": ([delete("b.py") + BAD], BUILD, ["b.py"]),
    "makes": ([write("c/d.py") + BAD], BUILD, ["c/d.py"]),
    "makes and deletes": (
        [write("c.py") + BAD, delete("c.py") + "^^^x.txt\nworse\n^^^end\n"],
        BUILD,
        ["c.py"],
    ),
    "moves": ([delete("b.py") + write("c.py", "b\n") + BAD], BUILD, ["b.py", "c.py"]),
    "moves back": (
        [delete("b.py") + write("c.py", "b\n") + BAD, delete("c.py") + write("b.py", "b\n") + BAD],
        BUILD,
        ["b.py", "c.py"],
    ),
    "build removes": ([BAD], "rm -f b.py; " + BUILD, ["b.py"]),
    "build writes": ([BAD], "echo built >> b.py; " + BUILD, ["b.py"]),
}
SETTINGS = ["refresh", "protect", "stop", "ignore", "by hand"]


@pytest.mark.fast_rows(5)
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("again", ["writes", "deletes"])
@pytest.mark.parametrize("earlier", EARLIER)
def test_a_repair_may_name_again_what_an_earlier_attempt_did(
    project, answered, earlier, again, setting
):
    replies, build, paths = EARLIER[earlier]
    project.write({"build.sh": build})
    if setting == "by hand":
        shown = "".join(
            f"--- {path} ---\n{project.read(path)}" for path in ("a.txt", "b.py", "x.txt")
        )
        project.write({"agent-config/codeRollup.txt": shown})
        settings = ""
    else:
        assert project.command("rollup").exit_code == 0
        settings = f'[plugins.commit]\nchanged_since_rollup = "{setting}"\n'
    named = "".join(write(path, "again\n") if again == "writes" else delete(path) for path in paths)
    # What a build wrote may be a person's: the text comes back once.
    is_changed = earlier == "build writes" or (earlier == "build removes" and again == "writes")
    is_compared = setting != "ignore" or earlier == "build writes"
    again_and_again = [named + GOOD] * (2 if is_changed and is_compared else 1)
    finished = answered(project, *replies, *again_and_again, settings=settings)
    assert finished.exit_code == 0, finished.stderr
    for path in paths:
        if again == "deletes" or (earlier == "build removes"):
            assert (project.root / path).exists() is (earlier == "build writes" and path == "b.py")
        else:
            built = "built\n" if earlier == "build writes" else ""
            assert project.read(path) == f"again\n{built}"


NOT_SEEN = {
    "excluded": ("left.txt", b"left\n", ["--exclude", "left.txt"]),
    "not included": ("left.txt", b"left\n", ["--include", "x.txt"]),
    "lock file": ("uv.lock", b"left\n", []),
    "generated": ("a.min.js", b"left\n", []),
    "vendored": ("vendor/a.c", b"left\n", []),
    "the limit": ("uv.lock", b"left".ljust(13_106) + b"\n" + b"x" * 52_428 + b"\n", []),
}


def repair_text(project: Project, number: int = 2) -> str:
    return (project.run_folder / f"{number}-repair-query.txt").read_text().partition("[query]")[0]


@pytest.mark.parametrize("change", [write, delete])
@pytest.mark.parametrize("what", NOT_SEEN)
def test_a_file_that_the_model_has_not_seen_comes_back_with_its_text(
    project, answered, what, change
):
    path, content, arguments = NOT_SEEN[what]
    (project.root / path).parent.mkdir(exist_ok=True)
    (project.root / path).write_bytes(content)
    assert project.command("rollup", *arguments).exit_code == 0
    response = GOOD + change(path)
    finished = answered(project, response, response)
    assert finished.exit_code == 0, finished.stderr
    assert (project.root / path).exists() is (change is write)
    text = repair_text(project)
    assert f"{path}: The response changes this file, but no prompt has shown its text.\n" in text
    assert f"\n--- {path} ---\n{content.decode()}--- " in text
    events = [
        json.loads(line) for line in (project.run_folder / "events.jsonl").read_text().splitlines()
    ]
    [refused] = [event["data"] for event in events if event["kind"] == "changes.refused"]
    assert [row["rule"] for row in refused["refusals"]] == ["unseen"]
    assert "left\n" not in refused["reason"]


def test_a_text_that_came_back_is_in_every_prompt_until_it_is_replaced(project, answered):
    project.write({"uv.lock": "left\n"})
    assert project.command("rollup").exit_code == 0
    replies = [BAD + write("uv.lock"), "words", BAD, BAD + write("uv.lock"), GOOD]
    assert answered(project, *replies, arguments=["--repairs", "4"]).exit_code == 0
    text = "The text of uv.lock, which is not in the codebase:\n\n--- uv.lock ---\nleft\n"
    assert [text in repair_text(project, number) for number in (2, 3, 4, 5)] == [
        True,
        True,
        True,
        False,
    ]


FOR_GOOD = {
    "secret": (".env", b"TOKEN=1\n", "It may contain secrets."),
    "picture": ("logo.png", b"\x89PNG\0", "It is not UTF-8 text."),
    "Latin-1": ("umlaut.c", "// für\n".encode("latin-1"), "It is not UTF-8 text."),
}


@pytest.mark.parametrize("change", [write, delete])
@pytest.mark.parametrize("what", FOR_GOOD)
def test_a_file_that_cannot_be_shown_is_refused(project, answered, what, change):
    path, content, reason = FOR_GOOD[what]
    (project.root / path).write_bytes(content)
    assert project.command("rollup").exit_code == 0
    finished = answered(project, GOOD + change(path), GOOD)
    assert (finished.exit_code, (project.root / path).read_bytes()) == (5, content)
    assert reason in finished.stderr
    assert (
        "hint: change the query so that it does not need this file, or set unseen_file"
        in finished.stderr
    )
    allowed = answered(
        project, GOOD + change(path), settings='[plugins.commit]\nunseen_file = "allow"\n'
    )
    assert allowed.exit_code == 0
    assert not (project.root / path).exists() or project.read(path) == "new\n"


def test_a_file_that_is_too_large_to_show_is_not_changed(project, answered):
    content = "left".ljust(65_537)
    project.write({"uv.lock": content})
    assert project.command("rollup").exit_code == 0
    finished = answered(project, GOOD + write("uv.lock"), GOOD)
    assert (finished.exit_code, project.read("uv.lock")) == (0, content)
    assert "It is too large to show here: leave it as it is." in repair_text(project)
    assert "left  " not in repair_text(project)


@pytest.mark.parametrize("setting", ["refresh", "protect", "stop", "ignore"])
def test_unseen_files_are_a_matter_of_their_own_setting(project, answered, setting):
    project.write({"uv.lock": "left\n"})
    assert project.command("rollup").exit_code == 0
    settings = f'[plugins.commit]\nchanged_since_rollup = "{setting}"\n'
    finished = answered(
        project, GOOD + write("uv.lock"), settings=f'{settings}unseen_file = "stop"\n'
    )
    assert (finished.exit_code, project.read("uv.lock")) == (5, "left\n")
    assert (
        "error: the response was refused: uv.lock: The response changes this file"
        in finished.stderr
    )
    finished = answered(
        project, GOOD + write("uv.lock"), settings=f'{settings}unseen_file = "allow"\n'
    )
    assert (finished.exit_code, project.read("uv.lock")) == (0, "new\n")


def test_with_ignore_a_new_file_is_not_replaced_blind(project, answered):
    assert project.command("rollup").exit_code == 0
    project.write({"new.txt": "left\n", "b.py": "edited\n"})
    response = GOOD + write("new.txt") + write("b.py")
    settings = '[plugins.commit]\nchanged_since_rollup = "ignore"\n'
    finished = answered(project, response, response, settings=settings)
    assert (finished.exit_code, project.read("b.py")) == (0, "new\n")
    assert "\n--- new.txt ---\nleft\n" in repair_text(project)
    assert "edited" not in repair_text(project)


@pytest.mark.parametrize(
    ("rollup", "times"),
    [
        ("# x.txt\nx\n# left.txt\nleft\nover\n", 1),
        ("<file>x\n</file><file>left\nover\n", 2),
        ("x\nleftist\nover\n", 2),
        ("x\n\n\nleft\r\nover", 2),
    ],
)
def test_a_file_is_seen_if_its_text_stands_in_a_rollup_made_by_hand(
    project, answered, rollup, times
):
    project.write({"left.txt": "left\nover\n", "agent-config/codeRollup.txt": f"x\n{rollup}"})
    response = GOOD + write("left.txt")
    finished = answered(project, *[response] * times)
    assert finished.exit_code == 0, finished.stderr
    assert len(list(project.run_folder.glob("[0-9]*-query.txt"))) == times


def test_a_rollup_made_by_hand_may_have_any_lines(project, answered):
    lines = "".join(
        f"--- {path} ---\nx\n"
        for path in ("../up", "/etc/passwd", "a//b", ".", "x" * 5000, "a\\b", "dir/")
    )
    project.write({"agent-config/codeRollup.txt": f"{lines}--- x.txt ---\nx\n"})
    assert answered(project, GOOD).exit_code == 0


def test_a_text_that_came_back_and_then_changed_is_not_overwritten(
    project, plugins, answered, tmp_path
):
    project.write({"uv.lock": "left\n"})
    assert project.command("rollup").exit_code == 0
    plugins[:] = [install_plugin(tmp_path / "editing", "scripted", EDITED)]
    response = GOOD + write("uv.lock")
    finished = answered(project, response, response)
    assert (finished.exit_code, project.read("uv.lock")) == (4, "mine\n")
    assert finished.stderr.count("Somebody changed this file after the model saw it.") == 1


EDITED = """
from code_commit_testing.scripted_provider import ScriptedProvider, code_commit_providers

complete = ScriptedProvider.complete

def edited(self, call):
    if call.number == 2:
        (call.root / "uv.lock").write_text("mine\\n")
    return complete(self, call)

ScriptedProvider.complete = edited
"""


SHRINKS = """
from code_commit.plugin_api import Refusal, hookimpl

class Rule:
    name = "shrinks"
    asked = False

    def judge(self, changes, tree):
        if not self.asked:
            self.asked = True
            yield Refusal("uv.lock", self.name, "Give it again if you mean it.", then="repair")

@hookimpl
def code_commit_path_rules(settings):
    return [Rule()]
"""


def test_an_unseen_file_comes_back_together_with_what_a_path_rule_says(
    project, plugins, answered, tmp_path
):
    project.write({"uv.lock": "left\n"})
    assert project.command("rollup").exit_code == 0
    plugins.append(
        install_plugin(tmp_path / "rules", "rules", SHRINKS, group="code_commit.path_rules")
    )
    response = GOOD + write("uv.lock")
    finished = answered(project, response, response)
    assert (finished.exit_code, project.read("uv.lock")) == (0, "new\n"), finished.stderr
    assert (
        "uv.lock: Give it again if you mean it.\nuv.lock: The response changes this file"
        in repair_text(project)
    )
    assert "\n--- uv.lock ---\nleft\n" in repair_text(project)
