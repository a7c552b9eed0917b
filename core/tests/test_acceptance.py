"""Acceptance checks of plugins, and the trials in which they show files from before the run."""

from __future__ import annotations

import shutil
from textwrap import dedent, indent

import pytest

from code_commit_testing import Finished, Project, install_plugin

WORKFLOW = """
from code_commit_testing.scripted_provider import code_commit_providers
from code_commit.plugin_api import (
    Change, CodeCommitError, Flag, Outcome, Result, Submission, WorkflowDefinition, hookimpl,
)

@hookimpl
def code_commit_workflows():
    work = Flag(("--work",), "a test", selects=True)
    return [WorkflowDefinition("work", "a test", (work,), "work_plugin:work")]

def tried(step, *arguments):
    try:
        return step(*arguments)
    except CodeCommitError as error:
        return error.message

def accepted(run, *changes):
    build = run.build()
    return run.accept(Submission(changes=changes, query="change it", build=build))

def work(run):
    given = verdict = None
    {code}
    outcome = Outcome.REACHED if not verdict or verdict.accepted else Outcome.NOT_REACHED
    return Result(outcome, "done", {{"given": given}}, verdict=verdict)
"""
CHECKS = """
from code_commit.plugin_api import AcceptanceCheck, Verdict, hookimpl

def early(run, submission):
    paths = [change.path for change in submission.changes]
    return Verdict(True, notes=[f"saw {{paths}} and {{submission.query}}\\nraw"], trailers={{"Seen": "yes"}})

def late(run, submission):
    {code}

@hookimpl
def code_commit_acceptance(settings):
    return [AcceptanceCheck("z-early", early), AcceptanceCheck("a-late", late)]
"""
NEVER = """
from code_commit.plugin_api import AcceptanceCheck, hookimpl

@hookimpl
def code_commit_acceptance(settings):
    return [AcceptanceCheck("never", lambda run, submission: 1 / 0)]
"""


@pytest.fixture
def project(tmp_path) -> Project:
    return Project.create(tmp_path)


@pytest.fixture
def run(tmp_path, project):
    """Return a function that runs a workflow of this code, with plugins of other code."""

    def run(code: str, **plugins: str) -> Finished:
        body = indent(dedent(code), "    ").strip()
        sources = {"work": WORKFLOW.format(code=body), **plugins}
        folders = []
        for name, source in sources.items():
            shutil.rmtree(tmp_path / name, ignore_errors=True)
            folders.append(install_plugin(tmp_path / name, name, source))
        arguments = ("--model", "scripted", "--json", "--work", "--sandbox", "off")
        return project.command(*arguments, plugins=folders)

    return run


def checks(code: str) -> str:
    return CHECKS.format(code=code)


SUBMIT = 'verdict = accepted(run, Change("a.txt", b"new"))'


def test_checks_are_asked_in_turn_until_one_refuses(run):
    refuse = 'return Verdict(False, "it is worse\\nsee there", ["a note"], {"Seen": "twice"})'
    finished = run(SUBMIT, middle=checks(refuse), never=NEVER)
    judged = [event["data"] for event in finished.events if event["kind"] == "acceptance.checked"]
    assert [check for check in judged if check["distribution"] == "code-commit-middle"] == [
        {
            "check": "z-early",
            "distribution": "code-commit-middle",
            "accepted": True,
            "reason": "",
            "notes": ["saw ['a.txt'] and change it\\nraw"],
            "trailers": {"Seen": "yes"},
        },
        {
            "check": "a-late",
            "distribution": "code-commit-middle",
            "accepted": False,
            "reason": "it is worse",
            "notes": ["a note"],
            "trailers": {"Seen": "twice"},
        },
    ]
    end = finished.events[-1]["data"]
    verdict = end["data"]["acceptance"]
    assert (end["exit_code"], verdict["accepted"], verdict["reason"]) == (1, False, "it is worse")
    assert verdict["refused_by"] == "a-late of code-commit-middle"
    assert verdict["notes"] == ["saw ['a.txt'] and change it\\nraw", "a note"]
    assert verdict["trailers"]["Seen"] == "twice"
    assert (
        "the acceptance check a-late of code-commit-middle refuses the change: it is worse"
        in finished.stderr
    )
    assert "  a note\n" in finished.stderr


def test_a_model_that_a_check_asks_must_exist_before_the_run_does_anything(run):
    judge = """
from code_commit.plugin_api import AcceptanceCheck, hookimpl

@hookimpl
def code_commit_acceptance(settings):
    return [AcceptanceCheck("judge", lambda run, submission: 1 / 0, models=("nobody.judge",))]
"""
    finished = run("run.emit(1 / 0)", judge=judge)
    assert finished.exit_code == 3, finished.stderr
    assert (
        "error: the acceptance check judge of code-commit-judge: there is no model 'nobody.judge'"
        in finished.stderr
    )


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("return 1 / 0", "failed: ZeroDivisionError: division by zero\n"),
        ("raise SystemExit(0)", "failed: SystemExit: 0\n"),
        ("return None", "failed: TypeError: it returned None for a Verdict\n"),
        ("return Verdict(1)", "whose `accepted` must be of type bool, not 1\n"),
        ('return Verdict(True, "", "ab")', "`notes` must be of type"),
        ('return Verdict(True, "", [1])', "a note or a trailer must be a text, not 1\n"),
        ('return Verdict(True, "", [], {"a: b\\nc": "d"})', "the name of a trailer is letters"),
        ('run.trial(show={"a.txt/b": b""}).__enter__()', "a.txt is a file"),
    ],
)
def test_a_check_that_fails_ends_the_run(run, code, fault):
    finished = run(SUBMIT, broken=checks(code))
    assert finished.exit_code == 3
    assert "the acceptance check a-late of code-commit-broken failed: " in finished.stderr
    assert fault in finished.stderr


@pytest.mark.parametrize(
    ("hook", "fault"),
    [
        ("return 1 / 0", "ZeroDivisionError: division by zero"),
        ('return [AcceptanceCheck("x", 1)]', "AcceptanceCheck.accept is not callable"),
        ("return [AcceptanceCheck('x', lambda run: 1)]", "is called with 2 arguments"),
        ("return [AcceptanceCheck]", "AcceptanceCheck is a class; return an object of it"),
    ],
)
def test_a_broken_hook_ends_the_run_before_it_starts(run, hook, fault):
    broken = "from code_commit.plugin_api import AcceptanceCheck, hookimpl\n"
    broken += f"@hookimpl\ndef code_commit_acceptance(settings):\n    {hook}\n"
    finished = run("(run.root / 'ran').touch()", broken=broken, unasked=NEVER)
    assert finished.exit_code == 3
    assert (
        "the plugin broken of code-commit-broken has acceptance checks and is broken"
        in finished.stderr
    )
    assert fault in finished.stderr


SHOW = """
    (run.root / "build.sh").write_text("cat old.txt new.txt; echo $CODE_COMMIT_X")
    run.apply([Change("old.txt", None), Change("new.txt", b"mine", mode=0o755), Change("a.txt", b"new")])
    given = [dict(run.originals(["a.txt", "old.txt", "new.txt"])), []]
    given[0] = {path: text and text.decode() for path, text in given[0].items()}
    with run.trial(show={"old.txt": b"old\\nand more\\n", "new.txt": None}):
        given[1] = run.build(environment={"CODE_COMMIT_X": "y"}).output.decode()
"""


def test_a_trial_shows_files_for_one_build(tmp_path, run, project):
    project.write({"old.txt": "old\n"})
    (project.root / "old.txt").chmod(0o755)
    finished = run(SHOW + '    given.append((run.root / "new.txt").read_text())')
    originals, output, new = finished.events[-1]["data"]["data"]["given"]
    assert originals == {"a.txt": "old\n", "old.txt": "old\n", "new.txt": None}
    assert output == "old\nand more\ncat: new.txt: No such file or directory\ny\n"
    assert (new, project.read("a.txt")) == ("mine", "new")
    assert not (project.root / "old.txt").exists()
    assert (project.root / "new.txt").stat().st_mode & 0o777 == 0o755
    assert "nothing to redo" in project.command("redo").stderr
    assert project.command("undo").exit_code == 0
    assert (project.read("old.txt"), (project.root / "new.txt").exists()) == ("old\n", False)
    assert (project.root / "old.txt").stat().st_mode & 0o777 == 0o755


def test_a_trial_loses_no_work_of_people(run, project):
    finished = run("""
        run.apply([Change("a.txt", b"new"), Change("b.txt", b"new")])
        (run.root / "b.txt").write_text("mine")
        given = [tried(run.trial(show={"b.txt": b""}).__enter__)]
        with run.trial(show={"a.txt": b"shown", "no.txt": b"shown"}):
            (run.root / "a.txt").write_text("mine, too")
        given.append((run.root / "a.txt").read_text())
    """)
    assert finished.events[-1]["data"]["data"]["given"] == [
        "changed by somebody else at the same places: b.txt",
        "new",
    ]
    assert project.read("b.txt") == "mine"
    assert not (project.root / "no.txt").exists()
    replaced = "also changed by somebody else, and moved back all the same: a.txt"
    assert f"{replaced}; `code-commit redo` brings that back" in finished.stderr
    assert project.command("redo").exit_code == 0
    assert project.read("a.txt") == "mine, too"


def test_a_run_that_is_killed_in_a_trial_loses_nothing(run, project):
    project.write({"old.txt": "old\n"})
    die = "f\"kill -9 {__import__('os').getpid()}; sleep 60; "
    killed = SHOW.replace('"cat old.txt', f"{die}cat old.txt")
    assert run(killed).exit_code == -9
    assert project.read("old.txt") == "old\nand more\n"
    killed_run = project.run_folder.name
    told = f"the run {killed_run} was killed: new.txt, old.txt moved back"
    assert told in run("given = 1").stderr
    assert (project.read("a.txt"), project.read("new.txt")) == ("new", "mine")
    assert not (project.root / "old.txt").exists()
    assert project.command("undo", killed_run).exit_code == 0
    assert not (project.root / "new.txt").exists()
