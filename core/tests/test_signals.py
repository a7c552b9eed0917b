"""A signal ends the command with 130, wherever the exception that Python makes of it is raised."""

from __future__ import annotations

import pytest

from code_commit_testing import Project, install_plugin

PLUGIN = '''
import importlib, os, signal, sys, threading
from pydantic import BaseModel
from code_commit.plugin_api import CommandDefinition, Flag, NotReady, Outcome, Result, WorkflowDefinition, hookimpl
from code_commit_workspace import uninterrupted

@hookimpl
def code_commit_commands():
    return [CommandDefinition("signaled", "end by a signal", "signaled_plugin:run", "signaled_plugin:arguments")]

@hookimpl
def code_commit_workflows():
    flags = (Flag(("--ending",), "how", metavar="HOW", selects=True),)
    return [WorkflowDefinition("ending", "end", flags, "signaled_plugin:end", writes=False, roles=None,
                               options="signaled_plugin:Options")]

def arguments(parser):
    parser.add_argument("code")

def run(host, arguments):
    exec(arguments.code)
    return 7

def kill(number=signal.SIGTERM):
    os.kill(os.getpid(), number)

class Options(BaseModel):
    ending: str

def end(run):
    handled()
    if run.options.ending != "reached":
        {"replaced": lambda: replaced(ValueError), "protected": protected}[run.options.ending]()
    return Result(Outcome.REACHED, "done")

class Dropped:
    def __del__(self):
        kill(signal.SIGHUP)

def dropped():
    Dropped()  # an exception in `__del__` is dropped
    threading.Event().wait(30)

def replaced(error):  # as extension modules do
    try:
        kill()
    except KeyboardInterrupt:
        pass
    raise error

def handled():
    try:
        kill()
    except KeyboardInterrupt:
        pass

PROFILE = """
def profile(frame, event, argument):
    if event == "c_return" and frame.f_code.co_name == "_get_module_lock":  # it has locked all imports
        sys.setprofile(None)
        os.kill(os.getpid(), 15)
"""

def protected():
    with uninterrupted():
        kill()
        raise NotReady("two files are left", hint="delete them")

def imported():
    exec(compile(PROFILE, "<frozen importlib._bootstrap>", "exec"), globals())  # where the signal seems to arrive
    sys.setprofile(profile)
    try:
        import colorsys
        threading.Event().wait(30)
    except KeyboardInterrupt:
        thread = threading.Thread(target=importlib.import_module, args=["colorsys"], daemon=True)
        thread.start()
        thread.join(10)
        print("hangs" if thread.is_alive() else "ended")
        raise
'''


@pytest.fixture
def signaled(tmp_path):
    project = Project.create(tmp_path / "made")
    plugins = install_plugin(tmp_path / "plugins", "signaled", PLUGIN)
    return lambda *words: project.command(*words, plugins=[plugins], cold=True)


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize(
    ("code", "exit_code", "said"),
    [
        ("dropped()", 130, "error: interrupted\n"),
        ("protected()", 130, "error: interrupted; two files are left\nhint: delete them\n"),
        ("replaced(ImportError)", 130, "error: interrupted\n"),
        ("replaced(NotReady('no'))", 130, "error: interrupted; no\n"),
        ("handled()", 7, ""),  # a command that handles Ctrl-C ends as it says
    ],
)
def test_a_command_that_a_signal_ended_exits_with_130(signaled, code, exit_code, said):
    finished = signaled("signaled", code)
    assert (finished.exit_code, finished.stderr) == (exit_code, said)


def test_a_signal_during_an_import_keeps_no_lock_of_imports(signaled):
    finished = signaled("signaled", "imported()")
    assert (finished.exit_code, finished.stdout.splitlines()[-1:]) == (130, ["ended"]), (
        finished.stderr
    )


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize(
    ("ending", "exit_code", "outcome", "summary"),
    [
        ("replaced", 130, "interrupted", "interrupted"),
        ("protected", 130, "interrupted", "interrupted; two files are left"),
        ("reached", 0, "reached", "done"),
    ],
)
def test_the_last_event_of_a_run_that_a_signal_ended_says_so(
    signaled, ending, exit_code, outcome, summary
):
    finished = signaled("--ending", ending, "--json")
    assert finished.exit_code == exit_code, finished.stderr
    last = finished.events[-1]["data"]
    assert (last["exit_code"], last["outcome"], last["summary"]) == (exit_code, outcome, summary)
    assert last["data"].get("hint") == ("delete them" if ending == "protected" else None)


def test_a_plugin_whose_import_fails_by_a_signal_is_not_left_out(signaled, tmp_path):
    code = "import os\ntry:\n    os.kill(os.getpid(), 15)\nfinally:\n    raise ImportError('datetime')\n"
    install_plugin(tmp_path / "plugins", "cut", code)
    finished = signaled("--ending", "reached")
    assert (finished.exit_code, "interrupted while the plugin cut" in finished.stderr) == (
        130,
        True,
    ), finished.stderr
