"""`code-commit apply RUN`: the recorded answer of a run, without a model."""

from __future__ import annotations

import json
import shutil

import pytest

from code_commit_testing import install_plugin

ASSIGNMENTS = """
from code_commit.plugin_api import Change, hookimpl
from code_commit_commit.hooks import ResponseFormat


def parse(text, tree):
    path, _, content = text.partition(" = ")
    return [Change(path, content.encode())]


@hookimpl(optionalhook=True)
def code_commit_formats(settings):
    return [ResponseFormat("assignments", "path = text", "Write `path = text`.", parse)]
"""
FIRST = """
from code_commit.plugin_api import hookimpl
from code_commit_commit.hooks import Context, Selection


@hookimpl(optionalhook=True)
def code_commit_contexts(settings):
    return [Context("first", "a.txt", lambda request: Selection(paths=["a.txt"]))]
"""
TYPING = """
from code_commit.plugin_api import hookimpl


class Typing:
    def __call__(self, call, next):
        completion = next(call)
        if call.provider != "replay" and call.number == 1:
            (call.root / "a.txt").write_text("mine\\n")
        return completion


@hookimpl
def code_commit_model_layers(settings):
    return [Typing()]
"""
GOOD = "^^^a.txt\ngood\n^^^end\n^^^new/b.txt\nb\n^^^end\n^^^c.txt\n^^^delete\n"


@pytest.fixture
def dry(runs):
    """A project with a dry run; `dry.dry_run` is its name."""
    runs.project.write({"c.txt": "c", "d.txt": "d\n--- x.txt ---\nd\n\n"})
    runs.project.git("add", "-A")
    assert runs.command("rollup").exit_code == 0
    finished, runs.dry_run = runs.run(GOOD, arguments=["--dry-run"])
    assert finished.exit_code == 0
    assert f"hint: `code-commit apply {runs.dry_run}` applies it\n" in finished.stderr
    assert runs.project.read("a.txt") == "old\n"
    return runs


@pytest.mark.parametrize("name", ["latest", "the run"])
def test_the_answer_of_a_dry_run_is_applied_and_can_be_taken_back(dry, name):
    finished = dry.command("apply", dry.dry_run if name == "the run" else name)
    assert finished.exit_code == 0, finished.stderr
    project = dry.project
    assert (project.read("a.txt"), project.read("new/b.txt")) == ("good\n", "b\n")
    assert not (project.root / "c.txt").exists()
    assert project.read("built.txt") == "built\n"
    assert "3 files changed, the build passes" in finished.stderr
    assert "differs" not in finished.stderr
    assert project.run_folder.name != dry.dry_run
    bill = dry.command("runs", "cost", "--json").document["total"]
    assert (bill["runs"], bill["calls"], bill["tokens"]["input"] > 0) == (2, 1, True)
    events = (project.run_folder / "events.jsonl").read_text().splitlines()
    calls = [event["data"] for event in map(json.loads, events) if event["kind"] == "call.started"]
    assert [call["provider"] for call in calls] == ["replay"]
    assert dry.command("undo").exit_code == 0
    assert (project.read("a.txt"), project.read("c.txt")) == ("old\n", "c")
    assert not (project.root / "new").exists()
    assert dry.command("apply", dry.dry_run).exit_code == 0  # once more


def test_it_ends_as_a_run_does(runs):
    runs.run(runs.replaced("a.txt", "bad\n"), arguments=["--dry-run"])
    finished = runs.command("apply", "latest", "--json")
    assert finished.exit_code == 1
    kinds = [event["kind"] for event in finished.events]
    assert (kinds[0], kinds[-1]) == ("run.started", "run.finished")
    assert finished.events[-1]["data"]["summary"].startswith("the build is red")
    assert kinds.count("call.started") == 1


def test_the_change_is_committed_on_request(dry):
    for name, value in {"user.name": "A person", "user.email": "person@example.com"}.items():
        dry.project.git("config", name, value)
    dry.project.git("commit", "-qm", "before")
    assert dry.command("apply", "latest", "--commit").exit_code == 0
    assert dry.project.git("status", "--porcelain", "a.txt", "new", "c.txt") == ""


OVERLAPS = [
    ({"a.txt": "mine\n"}, "a.txt"),
    ({"a.txt": "old\nmore\n"}, "a.txt"),
    ({"a.txt": "", "c.txt": "d"}, "a.txt, c.txt"),
    ({"a.txt": None}, "a.txt"),
    ({"new/b.txt": "a person's\n"}, "new/b.txt"),  # it would be lost
]


@pytest.mark.parametrize(("changes", "named"), OVERLAPS)
def test_files_with_overlapping_changes_are_named_and_nothing_is_touched(dry, changes, named):
    before = changed(dry.project, changes)
    finished = dry.command("apply", "latest")
    assert finished.exit_code == 3
    assert f"error: changed by somebody else at the same places: {named}\n" in finished.stderr
    assert "hint: move these changes away, then apply the same run again" in finished.stderr
    assert files(dry.project) == before


@pytest.mark.parametrize(("changes", "named"), OVERLAPS)
def test_without_its_log_no_changed_file_of_an_answer_is_touched(dry, changes, named):
    before = changed(dry.project, changes)
    forget_logs(dry.project)
    finished = dry.command("apply", "latest")
    assert finished.exit_code == 3
    assert f"error: changed after the model saw them in {dry.dry_run}: {named}\n" in finished.stderr
    assert files(dry.project) == before
    assert dry.project.run_folder.name == dry.dry_run


def changed(project, changes):
    """Change the files, and return what is there then."""
    for path, content in changes.items():
        project.write({path: content or ""})
        if content is None:
            (project.root / path).unlink()
    return files(project)


def files(project):
    found = (path for path in project.root.rglob("*") if path.is_file())
    hidden = {".git", "agent-config", "logs"}
    return {path: path.read_bytes() for path in found if hidden.isdisjoint(path.parts)}


def forget_logs(project):
    shutil.rmtree(project.root / "agent-config/.code-commit/runs")


@pytest.mark.parametrize("has_log", [True, False])
def test_changes_elsewhere_do_not_matter(dry, has_log):
    if not has_log:
        forget_logs(dry.project)
    dry.project.write({"mine.txt": "mine\n", "d.txt": "e\n"})
    finished = dry.command("apply", "latest")
    assert (finished.exit_code, dry.project.read("d.txt")) == (0, "e\n"), finished.stderr


LINES = "".join(f"{number}\n" for number in range(9))


def test_changes_of_a_person_in_the_same_files_stay(runs):
    """Through all answers of the run, also if the run itself has merged."""
    runs.project.write({"a.txt": LINES, "build.sh": "grep -q good a.txt\n"})
    assert runs.command("rollup").exit_code == 0
    bad, good = LINES.replace("1\n", "bad\n"), LINES.replace("1\n", "good\n")
    replies = runs.replaced("a.txt", bad), runs.replaced("a.txt", good)
    _, name = runs.run(*replies)
    assert runs.command("undo").exit_code == 0
    runs.project.write({"a.txt": LINES.replace("7\n", "mine\n")})
    finished = runs.command("apply", name)
    assert finished.exit_code == 0, finished.stderr
    both = good.replace("7\n", "mine\n")
    assert runs.project.read("a.txt") == both
    assert finished.stderr.count("merged with your changes: a.txt\n") == 2
    again = runs.project.run_folder.name
    diff = runs.command("runs", "diff", again).stdout.splitlines()
    assert {line for line in diff if line.startswith(("-1", "+"))} == {"+++ b/a.txt", "-1", "+good"}
    assert runs.command("undo").exit_code == 0
    assert runs.project.read("a.txt") == LINES.replace("7\n", "mine\n")
    finished = runs.command("apply", again)
    assert (finished.exit_code, runs.project.read("a.txt")) == (0, both), finished.stderr
    runs.project.write({"a.txt": LINES.replace("1\n", "mine\n")})
    assert runs.command("apply", again).exit_code == 3
    assert runs.project.read("a.txt") == LINES.replace("1\n", "mine\n")


def test_an_answer_that_its_run_did_not_apply_overwrites_nothing(runs, tmp_path):
    """A person changed the same lines during its call; the next answer saw these changes."""
    runs.plugins.append(install_plugin(tmp_path / "typing", "typing", TYPING))
    assert runs.command("rollup").exit_code == 0
    replies = (runs.replaced("a.txt", text) for text in ("good\n", "mine\ngood\n"))
    finished, name = runs.run(*replies)
    assert (finished.exit_code, runs.project.read("a.txt")) == (0, "mine\ngood\n")
    assert runs.command("undo").exit_code == 0
    assert runs.project.read("a.txt") == "mine\n"
    finished = runs.command("apply", name)
    assert (finished.exit_code, runs.project.read("a.txt")) == (3, "mine\n"), finished.stderr
    said = (
        "changed by somebody else at the same places",
        f"changed after the model saw them in {name}",
    )
    assert any(f"error: {text}: a.txt\n" in finished.stderr for text in said), finished.stderr


def test_code_in_another_form_counts_for_the_files_of_the_answer(runs):
    runs.project.write({"agent-config/codeRollup.txt": "a.txt:\nold\n\n"})
    runs.run(GOOD, arguments=["--dry-run"])
    runs.project.write({"d.txt": "no model saw it\n"})
    assert runs.command("apply", "latest").exit_code == 0
    runs.project.write({"a.txt": "old\n"})
    (runs.project.root / "new/b.txt").unlink()
    runs.run(GOOD, arguments=["--dry-run"])
    runs.project.write({"a.txt": "mine\n"})
    forget_logs(runs.project)
    finished = runs.command("apply", "latest")
    assert (finished.exit_code, ": a.txt\n" in finished.stderr) == (3, True)


def test_code_that_was_out_of_date_from_the_start_does_not_matter(runs):
    runs.project.write(
        {
            "agent-config/codeRollup.txt": "--- a.txt ---\nolder\n--- /gone/x ---\n--- gone.txt ---\ngone\n"
        }
    )
    settings = '[plugins.commit]\nunseen_file = "allow"\n'  # the model has seen an older text
    runs.project.write({"agent-config/config.toml": settings})
    runs.run(GOOD, arguments=["--dry-run"])
    assert runs.command("apply", "latest").exit_code == 0


def test_the_answers_of_a_run_with_repairs_are_applied_in_turn(runs):
    bad, good = (runs.replaced("a.txt", text) for text in ("bad\n", "good\n"))
    _, name = runs.run(bad, "no file replacement", good)
    assert runs.command("undo").exit_code == 0
    finished = runs.command("apply", name)
    assert (finished.exit_code, runs.project.read("a.txt")) == (0, "good\n"), finished.stderr


def test_an_answer_is_read_in_the_format_that_its_run_had(runs, tmp_path):
    """Whatever the settings are now."""
    runs.plugins.append(install_plugin(tmp_path / "format", "assignments", ASSIGNMENTS))
    assigned = runs.run("a.txt = ^^^a.txt good", arguments=["--dry-run", "--format=assignments"])[1]
    usual = runs.run(runs.replaced("a.txt", "a.txt = good\n"), arguments=["--dry-run"])[1]
    settings = '[plugins.commit]\nresponse_format = "assignments"\n'
    for name, config, content in (
        (assigned, "", "^^^a.txt good"),
        (usual, settings, "a.txt = good\n"),
    ):
        runs.project.write({"agent-config/config.toml": config})
        finished = runs.command("apply", name)
        assert finished.exit_code == 0, finished.stderr
        assert runs.project.read("a.txt") == content
        assert runs.command("undo").exit_code == 0
        finished = runs.command("replay", name)
        assert finished.exit_code == 0, finished.stdout


def test_an_answer_can_change_the_files_that_its_run_showed(runs, tmp_path):
    """Whatever the settings are now, and also those that it asked for or that flags named."""
    runs.plugins.append(install_plugin(tmp_path / "context", "first", FIRST))
    runs.project.write({"c.txt": "c\n", "d.txt": "d\n"})
    config = '[plugins.commit]\ncontext = "first"\n'
    runs.project.write({"agent-config/config.toml": config})
    (runs.project.root / "agent-config/codeRollup.txt").unlink()
    request = "%%%files\nc.txt\n%%%end\n"
    for replies, arguments in (
        ([GOOD], ["--context=all"]),
        ([GOOD], ["--files=c.txt", "--context-tokens=50"]),
        ([request, GOOD], ["--context-tokens=50"]),
    ):
        name = runs.run(*replies, arguments=["--dry-run", *arguments])[1]
        finished = runs.command("apply", name)
        assert finished.exit_code == 0, finished.stderr
        assert not (runs.project.root / "c.txt").exists()
        assert "refused" not in finished.stderr
        assert runs.command("undo").exit_code == 0


def test_an_answer_that_is_not_allowed_is_refused(runs):
    _, name = runs.run(runs.replaced("build.sh", "true\n"))
    finished = runs.command("apply", name)
    assert (finished.exit_code, "build.sh: Responses cannot change it." in finished.stderr) == (
        5,
        True,
    )


def test_only_a_run_with_an_answer_can_be_applied(runs):
    assert runs.command("apply", "latest").exit_code == 3
    runs.run("down")
    finished = runs.command("apply", "latest")
    assert (finished.exit_code, "has no answer of a model" in finished.stderr) == (3, True)
    assert runs.command("apply").exit_code == 2
    (runs.project.run_folder / "input-query.txt").unlink()
    assert runs.command("apply", "latest", "--json").events[-1]["data"]["exit_code"] == 3


@pytest.mark.parametrize("name", ["input-query.txt", "input-codeRollup.txt"])
def test_a_run_folder_without_its_inputs_is_named(dry, name):
    (dry.project.run_folder / name).unlink()
    finished = dry.command("apply", "latest")
    assert (finished.exit_code, f"{dry.dry_run} lacks a file" in finished.stderr) == (3, True)
