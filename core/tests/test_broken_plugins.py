"""Providers, workflows and rules of plugins that break their promises: each ends a run with one line that names it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from code_commit_testing import Project, install_plugin

PROVIDER = """
from pydantic import BaseModel
from code_commit.plugin_api import *

class Config(BaseModel):
    model: str = "odd"

class Odd:
    def complete(self, call):
        {complete}
    def close(self):
        pass

def made(config):
    {made}

@hookimpl
def code_commit_providers():
    return [ProviderDefinition("odd", {{"odd": ()}}, "", None, None, ("a", "{{key}}"), "odd_plugin:Config", "odd_plugin:made")]
"""
WORKFLOW = """
from code_commit.plugin_api import *

def run(run):
    {run}

@hookimpl
def code_commit_workflows():
    return [WorkflowDefinition("odd", "odd", (Flag(("--odd",), "odd", selects=True),), "odd_plugin:run", writes=False,
                               roles=None)]
"""
RULE = """
from code_commit.plugin_api import hookimpl

class Rule:
    name = "odd"
    def judge(self, changes, tree):
        {judge}

@hookimpl
def code_commit_path_rules(settings):
    return [Rule()]
"""
ANSWER = "Completion(Message('assistant', (Text({text}),)), {finish}, '', Usage(), 'odd', {{}})"
STOPPED = ANSWER.format(text="'x'", finish="Finish.STOP")[:-1]  # more fields may follow


def ran(tmp_path, code, *arguments, settings="", group="code_commit"):
    project = Project.create(tmp_path)
    project.write({"agent-config/config.toml": settings})
    plugins = install_plugin(tmp_path / "plugins", "odd", code, group=group)
    finished = project.command("--json", *arguments, plugins=[plugins])
    assert "Traceback" not in finished.stderr
    return project, finished, finished.events[-1]["data"]


@pytest.mark.fast_rows(6)
@pytest.mark.parametrize(
    ("complete", "words"),
    [
        ("raise RuntimeError('on purpose')", "failed: RuntimeError: on purpose"),
        ("raise ProviderError('on purpose', kind='made up')", "which code-commit-odd invented"),
        (
            f"return {ANSWER.format(text=None, finish='Finish.STOP')}",
            "it returned a Text whose `text` must be of type str, not None",
        ),
        (f"return {ANSWER.format(text=repr('x'), finish='None')}", "whose `finish` must be of type Finish, not None"),
        (f"return {STOPPED}, cost=-1)", "whose `cost` must be a number"),
        (f"return {STOPPED}, cost=float('inf'))", "whose `cost` must be a number of dollars, not inf"),
        ("raise SystemExit(0)", "failed: SystemExit: 0"),
        ("raise GeneratorExit", "failed: GeneratorExit"),
        ("return None", "returned None for a Completion"),
        ("return 'text'", "returned 'text' for a Completion"),
        (
            "return Completion(Message('assistant', [Text('x')]), Finish.STOP, '', Usage(), 'odd', {})",
            "it returned a Message whose `parts` must be of type tuple",
        ),
        ("async def later(): pass\n        return later()", "it is async; use a plain function"),
    ],
)
def test_a_provider_that_breaks_its_promise_is_one_that_failed(tmp_path, complete, words):
    code = PROVIDER.format(complete=complete, made="return Odd()")
    _, finished, end = ran(tmp_path, code, "--model", "odd")
    assert (finished.exit_code, end["outcome"]) == (4, "provider_failed")
    assert words in end["summary"]
    assert "code-commit-odd" in end["summary"]
    advice = (
        "check the name of the model, " if "made up" in complete else "this is a bug in its plugin; --debug shows where"
    )
    assert end["data"]["hint"].startswith(advice)


@pytest.mark.slow
def test_the_halves_of_a_character_in_a_reply_are_joined(tmp_path, asking):
    text = ANSWER.format(text=ascii("\ud83d\ude42"), finish="Finish.STOP")
    code = PROVIDER.format(complete=f"return {text}", made="return Odd()")
    plugins = [asking, install_plugin(tmp_path / "odd", "odd", code)]
    finished = Project.create(tmp_path).command("--json", "--ask", "--model", "odd", plugins=plugins)
    assert finished.events[-1]["data"]["data"]["answers"] == ["\U0001f642"] * 2


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize(
    "made",
    [
        "return None",
        "raise RuntimeError('on purpose')",
        "raise SystemExit(0)",
        "async def later(): pass\n    return later()",
    ],
)
def test_a_factory_that_makes_no_provider_is_named(tmp_path, made):
    _, finished, end = ran(tmp_path, PROVIDER.format(complete="pass", made=made), "--model", "odd")
    assert finished.exit_code == 3
    assert "code-commit-odd" in end["summary"]
    assert "hint: this is a bug in its plugin; --debug shows where\n" in finished.stderr
    assert "never awaited" not in finished.stderr


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize(
    ("encode", "words"),
    [
        ("async def encode(self, request): pass", "TypeError: it is async; use a plain function"),
        ("def encode(self, request): return {}", "TypeError: it returned {} for a HttpCall"),
    ],
)
def test_a_wire_that_encodes_no_call_is_named(tmp_path, encode, words):
    code = PROVIDER.format(complete="pass", made="return Odd()").replace("class Odd:", f"class Odd:\n    {encode}")
    _, finished, end = ran(tmp_path, code.replace('()}, ""', '()}, "http://127.0.0.1:9"'), "--model", "odd")
    assert finished.exit_code == 4
    assert end["summary"] == f"the provider odd of code-commit-odd failed: {words}"
    assert "never awaited" not in finished.stderr


def test_a_workflow_without_roles_gets_no_model(tmp_path):
    _, finished, end = ran(tmp_path, WORKFLOW.format(run="run.model()"), "--odd")
    assert finished.exit_code == 3
    assert end["summary"] == "odd asked for a model of the role 'default', which its definition does not declare"
    assert end["data"]["hint"] == "this is a bug in its plugin"


@pytest.mark.fast_rows(3)
@pytest.mark.parametrize(
    "header",
    [
        '("a",)',
        '("a", "{other}")',
        '("a", "{key.x}")',
        '("a", "{0}")',
        '("a", "{key}", "b")',
        '("a", 1)',
        '("a", "{key")',
        '("a", "")',
        "None",
    ],
)
def test_a_key_header_is_a_name_and_a_template(tmp_path, header):
    code = PROVIDER.format(complete="pass", made="return Odd()").replace('("a", "{key}")', header)
    assert header in code
    _, finished, end = ran(tmp_path, code, "--model", "odd")
    assert finished.exit_code == 2
    assert "key_header" in end["summary"]


def test_a_plugin_that_cannot_be_compared_is_reported(tmp_path):
    code = """
import sys
from code_commit.plugin_api import hookimpl

class Odd:
    __name__ = "odd_plugin"
    __hash__ = object.__hash__
    def __eq__(self, other):
        raise RuntimeError("on purpose")

sys.modules[__name__] = Odd()
"""
    plugins = install_plugin(tmp_path / "plugins", "odd", code)
    finished = Project.create(tmp_path).command("plugins", "--json", plugins=[plugins])
    (failure,) = finished.document["failures"]
    assert (failure["stage"], failure["error"]) == ("import", "RuntimeError: on purpose")


@pytest.mark.slow
def test_a_distribution_without_a_name_stops_no_examination(tmp_path):
    plugins = install_plugin(tmp_path / "plugins", "odd", "x = 1\n")
    (info,) = plugins.glob("*.dist-info")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nVersion: 1\nRequires-Dist: code-commit\n")
    (info / "entry_points.txt").unlink()
    project = Project.create(tmp_path)
    finished = project.command("plugins", plugins=[plugins])
    assert (finished.exit_code, finished.stderr) == (0, "")
    doctor = project.command("plugins", "doctor", plugins=[plugins])
    assert (doctor.exit_code, "no entry point" in doctor.stdout + doctor.stderr) == (1, True)


@pytest.mark.parametrize("name", ["odd_plugin:Config", "odd_plugin:made"])
def test_code_of_a_provider_that_is_not_there_is_named(tmp_path, name):
    code = PROVIDER.format(complete="pass", made="return Odd()").replace(f'"{name}"', '"nowhere:Nothing"')
    _, finished, end = ran(tmp_path, code, "--model", "odd")
    assert finished.exit_code == 3
    assert "code-commit-odd cannot be created: ModuleNotFoundError: No module named 'nowhere'" in end["summary"]


@pytest.mark.fast_rows(3)
@pytest.mark.parametrize(
    ("run", "words"),
    [
        ("raise GeneratorExit", "GeneratorExit"),
        ("return None", "returned None for a Result"),
        ("return 'text'", "returned 'text' for a Result"),
        ("return Result(5, None, 7)", "it returned a Result whose `outcome` must be of type Outcome, not 5"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("return Result(Outcome.REACHED, None)", "`summary` must be of type str, not None"),
        ("return Result(Outcome.REACHED, 'done', 7)", "`data` must be of type Mapping, not 7"),
        ("async def later(): pass\n    return later()", "it is async; use a plain function"),
    ],
)
def test_a_workflow_that_gives_no_result_is_named(tmp_path, run, words):
    _, finished, end = ran(tmp_path, WORKFLOW.format(run=run), "--odd")
    assert (finished.exit_code, end["outcome"]) == (70, "internal")
    assert "code-commit-odd" in end["summary"]
    assert words in end["summary"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("run", "stage"),
    [
        ("run.span('no kind', x=object()).__enter__()", "emit"),
        ("return Result(Outcome.REACHED, 'done', {'x': object()})", "result"),
        ("run.emit(7)", "emit"),
        ("run.emit(object())", "emit"),
    ],
)
def test_an_event_or_result_that_is_no_json_names_the_plugin(tmp_path, run, stage):
    code = WORKFLOW.format(run=f"{run}\n    return Result(Outcome.REACHED, 'done')")
    _, finished, end = ran(tmp_path, code, "--odd")
    assert (finished.exit_code, end["summary"]) == (0, "done")
    failed = [event["data"] for event in finished.events if event["kind"] == "plugin.failed"]
    assert {(each["plugin"], each["distribution"], each["stage"]) for each in failed} == {
        ("odd", "code-commit-odd", stage)
    }
    assert f"plugin odd of code-commit-odd failed ({stage})" in finished.stderr


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ("roles=None", "roles=None, options='odd_plugin:Nothing'", "options 'odd_plugin:Nothing' cannot be imported: "),
        ("def run(run)", "def run()", "run 'odd_plugin:run' is called with 1 argument: too many positional arguments"),
        ("roles=None", "roles=None, options='odd_plugin:run'", "options 'odd_plugin:run' is not a pydantic model"),
        (
            "roles=None",
            "roles=None, root='odd_plugin:run'",
            "root 'odd_plugin:run' is called with 2 arguments: too many",
        ),
        ('"odd_plugin:run"', '"odd_plugin:nothing"', "run 'odd_plugin:nothing' cannot be imported: AttributeError"),
        ('"odd_plugin:run"', '"odd_plugin"', "run 'odd_plugin' is not callable"),
        ("def run(run)", "async def run(run)", "run 'odd_plugin:run' is async; use a plain function"),
    ],
)
def test_code_of_a_workflow_that_cannot_be_used_is_named_before_the_run(tmp_path, right, wrong, words):
    code = WORKFLOW.format(run="return Result(Outcome.REACHED, 'done')").replace(right, wrong)
    project, finished, end = ran(tmp_path, code, "--odd")
    assert (finished.exit_code, end["outcome"]) == (2, "usage")
    assert end["summary"].startswith(f"the workflow odd of code-commit-odd 1.0 is broken: {words}")
    assert not list((project.root / "logs").glob("*-odd"))


@pytest.mark.slow
def test_what_a_workflow_and_its_sinks_print_is_no_event(tmp_path):
    sink = """
class Loud:
    def receive(self, record):
        print("loud")
    def close(self):
        print("loud")

@hookimpl
def code_commit_log_sinks(settings):
    return [Loud()]
"""
    code = WORKFLOW.format(run="print('loud')\n    return Result(Outcome.REACHED, 'done')") + sink
    _, finished, end = ran(tmp_path, code, "--odd")
    assert (finished.exit_code, end["outcome"]) == (0, "reached")
    assert "loud" in finished.stderr


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize("judge", ["raise GeneratorExit", "raise SystemExit(0)", "return True", "return 'fine'"])
def test_a_rule_that_gives_no_verdict_allows_nothing(tmp_path, judge):
    code = RULE.format(judge=judge) + "from code_commit_testing.scripted_provider import code_commit_providers\n"
    replies = json.dumps(["^^^a.txt\nnew\n^^^end\n"])
    settings = f"[providers.scripted.default]\nreplies = {replies}\n"
    project, finished, end = ran(
        tmp_path, code, "--model", "scripted", settings=settings, group="code_commit.path_rules"
    )
    assert (finished.exit_code, project.read("a.txt")) == (5, "old\n")
    assert "code-commit-odd" in end["summary"]


@pytest.mark.slow
@pytest.mark.parametrize(("roles", "code"), [("None", 0), ("()", 2)])
def test_a_workflow_that_asks_no_model_needs_none(tmp_path, roles, code):
    given = WORKFLOW.replace("roles=None", f"roles={roles}")
    run = "return Result(Outcome.REACHED, 'done')"
    _, finished, _ = ran(tmp_path, given.format(run=run), "--odd", settings='model = "nobodys"\n')
    assert finished.exit_code == code


DONE = WORKFLOW.format(run="return Result(Outcome.REACHED, 'done')")


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ('[providers]\nplaner = "gemini.default"\n', "there is no role 'planer'; did you mean planner?"),
        ('[providers.gemni.default]\nmodel = "m"\n', "there is no provider 'gemni'; did you mean gemini?"),
        ('[providers]\ncritic = "gemni.default"\n', "there is no provider 'gemni'; did you mean gemini?"),
        ('[providers]\ncoach = "anthropic.default"\ncritic = "odd.default"\n', ""),
        ('[providers.gemini.fast]\nmodel = "m"\n[providers]\ncoach = "gemini.fast"\ncritic = "odd.default"\n', ""),
        ('[providers.odd.default]\nmodel = "m"\n[providers]\ncritic = "odd.default"\n', ""),
    ],
)
def test_a_misspelled_role_or_provider_is_named(tmp_path, settings, words):
    code = DONE.replace("roles=None", "roles=('critic',)") + PROVIDER.format(complete="pass", made="return Odd()")
    _, finished, end = ran(tmp_path, code, "--odd", settings=settings)
    assert (finished.exit_code, words in end["summary"]) == (3 if words else 0, True), finished.stderr


@pytest.mark.slow
def test_what_a_plugin_may_offer_that_fails_is_no_mistake(tmp_path):
    plugins = install_plugin(tmp_path / "plugins", "broken", "raise ValueError")
    install_plugin(plugins, "odd", DONE)
    project = Project.create(tmp_path)
    project.write({"agent-config/config.toml": '[providers.theirs.default]\nmodel = "m"\n'})
    assert project.command("--odd", plugins=[plugins]).exit_code == 0


@pytest.mark.slow
def test_python_m_imports_nothing_from_the_project(tmp_path):
    project = Project.create(tmp_path)
    project.write({"pluggy.py": "raise SystemExit('imported')"})
    install_plugin(project.root, "mine", "raise SystemExit('imported')")
    command = [sys.executable, "-m", "code_commit", "plugins"]
    done = subprocess.run(
        command, cwd=project.root, env=project.environment(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, "mine" in done.stdout, "imported" in done.stdout + done.stderr) == (0, False, False)


def test_a_broken_run_token_is_named(tmp_path):
    code = PROVIDER.format(complete="raise AssertionError", made="return Odd()").replace(
        '"odd_plugin:made")]', '"odd_plugin:made", run_token="odd_plugin:token")]\n\ndef token(model, root):\n    1 / 0'
    )
    _, done, _ = ran(tmp_path, code, "--model", "odd")
    assert done.exit_code == 3
    assert "the provider odd of code-commit-odd cannot be created: ZeroDivisionError" in done.stderr


def test_debug_shows_the_traceback_of_a_path_rule(tmp_path):
    work = "run.check([Change('a.txt', b'new')]); return Result(Outcome.REACHED, 'ok')"
    code = WORKFLOW.replace("writes=False", "writes=True").format(run=work)
    rule = RULE.format(judge="raise KeyError('in the rule')").partition("hookimpl\n")[2]
    project = Project.create(tmp_path)
    plugins = install_plugin(tmp_path / "plugins", "odd", code + rule, group="code_commit.path_rules")
    quiet = project.command("--odd", plugins=[plugins])
    shown = project.command("--odd", "--debug", plugins=[plugins])
    assert (quiet.exit_code, shown.exit_code) == (0, 0), shown.stderr
    assert "Traceback" not in quiet.stderr
    assert "in judge\n    raise KeyError('in the rule')" in shown.stderr
