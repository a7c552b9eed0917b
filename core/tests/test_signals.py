"""A signal ends the command with 130, wherever the exception that Python makes of it is raised."""

from __future__ import annotations

import pytest

from code_commit_testing import Project, install_plugin

PLUGIN = '''
import importlib, os, signal, sys, threading
from code_commit.plugin_api import CommandDefinition, Flag, NotReady, Outcome, Result, WorkflowDefinition, hookimpl

@hookimpl
def code_commit_commands():
    return [CommandDefinition("signaled", "end by a signal", "signaled_plugin:run", "signaled_plugin:arguments")]

@hookimpl
def code_commit_workflows():
    flags = (Flag(("--broken",), "break", selects=True),)
    return [WorkflowDefinition("broken", "break", flags, "signaled_plugin:broken", writes=False, roles=None)]

def arguments(parser):
    parser.add_argument("code")

def run(host, arguments):
    exec(arguments.code)
    return 7

def kill(number=signal.SIGTERM):
    os.kill(os.getpid(), number)

def broken(run):
    replaced(ValueError)

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
    ("code", "exit_code"),
    [
        ("dropped()", 130),
        ("replaced(ImportError)", 130),
        ("replaced(NotReady('no'))", 130),
        ("handled()", 7),  # a command that handles Ctrl-C ends as it says
    ],
)
def test_a_command_that_a_signal_ended_exits_with_130(signaled, code, exit_code):
    finished = signaled("signaled", code)
    assert (finished.exit_code, finished.stderr) == (exit_code, "error: interrupted\n" * (exit_code == 130))


def test_a_signal_during_an_import_keeps_no_lock_of_imports(signaled):
    finished = signaled("signaled", "imported()")
    assert (finished.exit_code, finished.stdout.splitlines()[-1:]) == (130, ["ended"]), finished.stderr


def test_the_last_event_of_a_run_that_a_signal_ended_says_so(signaled):
    finished = signaled("--broken", "--json")
    assert (finished.exit_code, finished.events[-1]["data"]["outcome"]) == (130, "interrupted"), finished.stderr


def test_a_plugin_whose_import_fails_by_a_signal_is_not_left_out(signaled, tmp_path):
    code = "import os\ntry:\n    os.kill(os.getpid(), 15)\nfinally:\n    raise ImportError('datetime')\n"
    install_plugin(tmp_path / "plugins", "cut", code)
    finished = signaled("--broken")
    assert (finished.exit_code, "interrupted while the plugin cut" in finished.stderr) == (130, True), finished.stderr
