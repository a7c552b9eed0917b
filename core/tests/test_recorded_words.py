"""Words and numbers that run logs and scripts keep: to change one breaks their readers."""

from __future__ import annotations

from typing import get_args

import pytest

from code_commit import plugin_api
from code_commit.models.limits import HINTS
from code_commit.plugin_api import errors
from code_commit.plugin_api import event as events
from code_commit.plugin_api.conversation import Finish, ProviderErrorKind
from code_commit.plugin_api.errors import ExitCode
from code_commit.plugin_api.run import Outcome
from code_commit_testing import Project, install_plugin
from code_commit_workspace import ChangeSetRefused

EVENTS = """
    run.started run.finished query.read context.chosen call.started call.retried call.progress call.finished changes.parsed
    changes.refused changes.applied changes.undone process.started process.finished state.entered question.asked
    question.answered plugin.failed message acceptance.checked call.arrived
"""
CODES = {
    "reached": 0,
    "not_reached": 1,
    "usage": 2,
    "not_ready": 3,
    "provider_failed": 4,
    "response_refused": 5,
    "limit": 6,
    "internal": 70,
    "interrupted": 130,
}
SAME = """
from code_commit.plugin_api import Flag, Outcome, Result, WorkflowDefinition, hookimpl

@hookimpl
def code_commit_workflows():
    flag = Flag(("--{name}",), "a flag", selects=True)
    return [WorkflowDefinition("same", "a workflow", (flag,), "{name}_plugin:run", writes=False)]

def run(run):
    return Result(Outcome.REACHED, "ran {name}")
"""


def test_kinds_of_events():
    names = {
        event.__name__: event.kind
        for event in events.Event.__subclasses__()
        if event.__module__ == events.__name__
    }
    assert sorted(names.values()) == sorted(EVENTS.split())
    for name, kind in names.items():
        assert name == "MessageLogged" or name == "".join(
            word.capitalize() for word in kind.split(".")
        )


def test_reasons_why_a_completion_ended():
    words = "stop tool_calls paused length cut refused filtered stopped_early"
    assert [finish.value for finish in Finish] == words.split()
    assert [finish.name.lower() for finish in Finish] == words.split()


def test_exit_codes_and_outcomes():
    assert {code.outcome: int(code) for code in ExitCode} == CODES
    assert {
        outcome.name.lower(): int(outcome.value) for outcome in Outcome
    }.items() <= CODES.items()


def test_an_error_has_the_exit_code_of_its_nearest_class():
    class Special(errors.NotReady):
        pass

    codes = [
        errors.exit_code_of(error)
        for error in (Special("x"), errors.CodeCommitError("x"), ChangeSetRefused(()))
    ]
    assert codes == [ExitCode.NOT_READY, ExitCode.INTERNAL, ExitCode.RESPONSE_REFUSED]


PROTECTED = """\
+ .gitignore
+ Cargo.lock
+ build.sh
+ codeRollup.sh
+ LLMInstructions.md
+ any file named UserSpecification.md
+ anything in the .git folder
+ anything in the agent-config folder
+ anything in the logs folder
+ anything in the target folder
+ anything specified in the .gitignore file"""


def test_what_no_response_may_change():
    assert plugin_api.protected_list() == PROTECTED
    anywhere = [rule.name for rule in plugin_api.PROTECTED if rule.anywhere]
    unreadable = [rule.name for rule in plugin_api.PROTECTED if not rule.readable]
    assert anywhere == [".gitignore", "UserSpecification.md", ".git"]
    assert unreadable == [".git", "agent-config", "logs"]


def test_what_a_plugin_may_import_can_be_listed():
    assert {"Text", "Run", "hookimpl", "hookspec"} <= set(dir(plugin_api))


def test_each_kind_of_a_services_error_has_a_hint():
    assert set(HINTS) == set(get_args(ProviderErrorKind))
    assert set(HINTS) == {
        "auth",
        "quota",
        "rate",
        "network",
        "server",
        "rejected",
        "invalid_response",
    }


@pytest.mark.slow
@pytest.mark.parametrize("flag", ["--one", "--two"])
def test_a_workflow_that_two_plugins_claim_runs_neither_of_them(tmp_path, flag):
    project = Project.create(tmp_path / "made")
    plugins = install_plugin(tmp_path / "plugins", "one", SAME.format(name="one"))
    install_plugin(plugins, "two", SAME.format(name="two"))
    finished = project.command(flag, plugins=[plugins])
    assert finished.exit_code == 2
    assert "claimed by code-commit-one and code-commit-two" in finished.stderr
