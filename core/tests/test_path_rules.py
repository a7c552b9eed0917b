"""Path rules of plugins in whole runs: what they are asked, and what becomes of their answers."""

from __future__ import annotations

import json
from itertools import count

import pytest

from code_commit_testing import Finished, Project, install_plugin

RULE = """
import os, signal
from code_commit.plugin_api import Refusal, hookimpl

class Rule:
    name = "tidy"
    def judge(self, changes, tree):
        {judge}

@hookimpl
def code_commit_path_rules(settings):
    return [Rule()]
"""
SCRIPTED = "from code_commit_testing.scripted_provider import code_commit_providers\n"
ANSWER = "^^^a.txt\nnew\n^^^end\n^^^b.txt\nnew\n^^^end\n"
OTHER = "^^^a.txt\nother\n^^^end\n"


@pytest.fixture
def project(tmp_path):
    return Project.create(tmp_path, files={"a.txt": "old\n", "src/c.txt": "old\n"})


@pytest.fixture
def commit(project, tmp_path):
    """Give a function that runs a commit under a rule; it is answered by ANSWER, then by OTHER."""

    number = count()

    def commit(judge: str, *arguments: str, group: str = "code_commit.path_rules") -> Finished:
        folder = install_plugin(tmp_path / str(next(number)), "scripted", SCRIPTED)
        install_plugin(folder, "tidy", RULE.format(judge=judge), group=group)
        replies = json.dumps([ANSWER, OTHER])
        project.write(
            {"agent-config/config.toml": f"[providers.scripted.default]\nreplies = {replies}\n"}
        )
        return project.command("--model", "scripted", "--json", *arguments, plugins=[folder])

    return commit


def kinds(finished):
    return [event["kind"] for event in finished.events]


@pytest.mark.slow
def test_a_rule_sees_the_whole_change_set_and_the_visible_files(commit, project):
    seen = (
        "paths = [change.path for change in changes]; "
        "seen = repr((paths, tree.list(), tree.read('a.txt'))); "
        "return [Refusal('', 'tidy', seen)]"
    )
    files = project.git("ls-files").split()
    assert (
        repr((["a.txt", "b.txt"], tuple(sorted(files)), b"old\n"))
        in commit(seen).events[-1]["data"]["summary"]
    )


@pytest.mark.slow
def test_a_rule_sends_the_whole_change_set_back(commit, project):
    finished = commit(
        "return [Refusal('', 'tidy', 'One file at a time.', 'repair')] if len(changes) > 1 else ()"
    )
    assert (finished.exit_code, project.read("a.txt")) == (0, "other\n")
    [refused] = [event["data"] for event in finished.events if event["kind"] == "changes.refused"]
    assert refused["reason"] == "One file at a time."
    assert refused["refusals"] == [{"path": "", "rule": "tidy", "reason": "One file at a time."}]
    assert (
        "The reason:\nOne file at a time.\n"
        in (project.run_folder / "2-repair-query.txt").read_text()
    )


@pytest.mark.slow
def test_a_broken_rule_does_not_stop_a_run_that_writes_nothing(project, asking):
    code = RULE.format(judge="pass").replace("return [Rule()]", "raise ValueError('no rules')")
    install_plugin(asking, "tidy", code, group="code_commit.path_rules")
    install_plugin(asking, "scripted", SCRIPTED)
    project.write(
        {"agent-config/config.toml": '[providers.scripted.default]\nreplies = ["1", "2"]\n'}
    )
    finished = project.command("--ask", "--model", "scripted", "--json", plugins=[asking])
    assert finished.exit_code == 0, finished.stderr
    [failed] = [event["data"] for event in finished.events if event["kind"] == "plugin.failed"]
    assert (failed["plugin"], failed["error"]) == ("tidy", "ValueError: no rules")


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize("path", ["b.txt", ""])
def test_a_rule_stops_the_run(commit, project, path):
    warning = "Refusal('a.txt', 'tidy', 'Careful.', then='warn')"
    finished = commit(f"return [{warning}, Refusal({path!r}, 'tidy', 'Not today.', then='stop')]")
    warnings = [
        event["data"]["text"]
        for event in finished.events
        if event["data"].get("level") == "warning"
    ]
    assert any("Careful." in text for text in warnings)
    assert (finished.exit_code, kinds(finished).count("call.started")) == (5, 1)
    assert project.read("a.txt") == "old\n"
    assert not (project.root / "b.txt").exists()
    end = finished.events[-1]["data"]
    assert end["summary"].endswith(f"{path}: Not today." if path else ": Not today.")
    assert "the rule tidy of the plugin code-commit-tidy refused" in end["data"]["hint"]


@pytest.mark.slow
def test_the_hint_names_the_rule_when_the_last_repair_is_sent_back(commit):
    finished = commit("return [Refusal('a.txt', 'tidy', 'No.', then='repair')]", "--repairs", "1")
    assert (finished.exit_code, kinds(finished).count("call.started")) == (5, 2)
    assert (
        "the rule tidy of the plugin code-commit-tidy refused"
        in finished.events[-1]["data"]["data"]["hint"]
    )


@pytest.mark.slow
def test_a_broken_rule_refuses_and_the_hint_leaves_its_plugin_out(commit, project):
    finished = commit("raise KeyError('x')")
    assert (finished.exit_code, project.read("a.txt")) == (5, "old\n")
    end = finished.events[-1]["data"]
    assert "The rule 'tidy' of code-commit-tidy failed with" in end["summary"]
    assert "--disable-plugin code-commit-tidy" in end["data"]["hint"]


@pytest.mark.parametrize(
    ("rule", "words"),
    [("object()", "object.judge is missing"), ("Nameless()", "Nameless has no `name`")],
)
def test_a_rule_that_is_none_keeps_a_writing_run_from_starting(project, tmp_path, rule, words):
    code = RULE.format(judge="return []").replace("[Rule()]", f"[{rule}]")
    folder = install_plugin(tmp_path / "p", "scripted", SCRIPTED)
    code += "\nclass Nameless:\n    name = None\n    judge = Rule.judge\n"
    install_plugin(folder, "tidy", code, group="code_commit.path_rules")
    finished = project.command("--model", "scripted", "--json", plugins=[folder])
    assert finished.exit_code == 3
    assert words in finished.stderr
    assert "call.started" not in kinds(finished)


@pytest.mark.slow
def test_ctrl_c_in_a_rule_ends_the_run(commit, project):
    finished = commit("os.kill(os.getpid(), signal.SIGINT); return ()")
    end = finished.events[-1]["data"]
    assert (finished.exit_code, end["outcome"]) == (130, "interrupted")
    assert project.read("a.txt") == "old\n"
    assert "changes.refused" not in kinds(finished)


@pytest.mark.slow
def test_a_rule_in_the_general_group_keeps_a_writing_run_from_starting(commit, project):
    finished = commit("return ()", group="code_commit")
    assert (finished.exit_code, project.read("a.txt")) == (3, "old\n")
    summary = finished.events[-1]["data"]["summary"]
    assert "code-commit-tidy has path rules and is broken" in summary
    assert "entry point group code_commit.path_rules" in summary
    assert "call.started" not in kinds(finished)
    assert commit("return ()", "--disable-plugin", "tidy", group="code_commit").exit_code == 0


LOOKING = """
from code_commit.plugin_api import Flag, Outcome, Result, WorkflowDefinition


def run(run):
    return Result(Outcome.REACHED, "looked")


@hookimpl
def code_commit_workflows():
    flags = (Flag(("--look",), "look", selects=True),)
    return [
        WorkflowDefinition("looking", "looks", flags, "tidy_plugin:run", writes=False, roles=None)
    ]


@hookimpl
def code_commit_log_sinks(settings):
    return []
"""


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize("group", ["code_commit", "code_commit.path_rules"])
def test_a_run_that_does_not_write_goes_on_and_reports_a_rule_in_the_general_group(
    project, tmp_path, group
):
    folder = install_plugin(
        tmp_path / "plugins", "tidy", RULE.format(judge="return ()") + LOOKING, group=group
    )
    finished = project.command("--look", "--json", plugins=[folder])
    assert finished.exit_code == 0, finished.stderr
    failures = [event["data"] for event in finished.events if event["kind"] == "plugin.failed"]
    stages = [failure["stage"] for failure in failures if failure["plugin"] == "tidy"]
    assert stages == (["code_commit_path_rules"] if group == "code_commit" else [])


@pytest.mark.slow
def test_plugins_lists_path_rules_and_log_sinks(project, tmp_path):
    code = RULE.format(judge="return ()") + LOOKING
    folder = install_plugin(tmp_path / "plugins", "tidy", code, group="code_commit.path_rules")
    [line] = [
        line
        for line in project.command("plugins", plugins=[folder]).stdout.splitlines()
        if "tidy" in line
    ]
    assert line.split(maxsplit=3)[3] == "workflow looking, path rules, log sinks"
    document = project.command("plugins", "--json", plugins=[folder]).document
    [row] = [plugin for plugin in document["plugins"] if plugin["name"] == "tidy"]
    assert row["guards_paths"]
    assert row["hooks"] == [
        "code_commit_log_sinks",
        "code_commit_path_rules",
        "code_commit_workflows",
    ]


def test_plugins_names_a_rule_in_the_general_group(project, tmp_path):
    folder = install_plugin(tmp_path / "plugins", "tidy", RULE.format(judge="return ()"))
    [failure] = project.command("plugins", "--json", plugins=[folder]).document["failures"]
    assert (failure["stage"], failure["guards_paths"]) == ("code_commit_path_rules", True)
    assert (
        failure["error"]
        == "a path rule must be registered in the entry point group code_commit.path_rules"
    )
