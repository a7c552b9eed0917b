"""Providers, workflows and rules of plugins that break their promises: each ends a run with one
line that names it.
"""

from __future__ import annotations

import json

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
    return [
        ProviderDefinition(
            "odd",
            {{"odd": ()}},
            "",
            None,
            None,
            ("a", "{{key}}"),
            "odd_plugin:Config",
            "odd_plugin:made",
        )
    ]
"""
WORKFLOW = """
from code_commit.plugin_api import *


def run(run):
    {run}


@hookimpl
def code_commit_workflows():
    return [
        WorkflowDefinition(
            "odd",
            "odd",
            (Flag(("--odd",), "odd", selects=True),),
            "odd_plugin:run",
            writes=False,
            roles=None,
        )
    ]
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
EACH = """
import json
from code_commit.plugin_api import CodeCommitError, CommandDefinition, hookimpl

@hookimpl
def code_commit_commands():
    return [CommandDefinition("each", "start runs", "each_plugin:each", "each_plugin:arguments")]

def arguments(parser):
    parser.add_argument("lines", nargs="+")

def each(host, arguments):
    told = []
    for line in arguments.lines:
        words, _, settings = line.partition("\\n")
        (host.root / "agent-config/config.toml").write_text(settings)
        try:
            done = host.start(host.parse(words.split()))
            told.append([done.exit_code.name, done.summary, done.hint])
        except CodeCommitError as error:
            told.append([type(error).__name__, error.message, error.hint])
    host.out.document(told)
    return 0
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


def run_each(tmp_path, code, *lines):
    """Start a run for each line in one process, with the settings after the line; return how each
    ended and why.
    """
    project = Project.create(tmp_path)
    project.write({"agent-config/config.toml": ""})
    plugins = install_plugin(tmp_path / "plugins", "odd", code)
    install_plugin(plugins, "each", EACH)
    finished = project.command("each", "--", *lines, plugins=[plugins])
    assert (finished.exit_code, "never awaited" in finished.stderr) == (0, False), finished.stderr
    return project, finished, finished.document


def test_a_provider_that_breaks_its_promise_is_one_that_failed(tmp_path):
    mistakes = [
        ("raise RuntimeError('on purpose')", "failed: RuntimeError: on purpose"),
        ("raise ProviderError('on purpose', kind='made up')", "which code-commit-odd invented"),
        (
            f"return {ANSWER.format(text=None, finish='Finish.STOP')}",
            "the text of a Text or a ToolResult is of type str, not None",
        ),
        (
            f"return {ANSWER.format(text=repr('x'), finish='None')}",
            "whose `finish` must be of type Finish, not None",
        ),
        (f"return {STOPPED}, cost=-1)", "whose `cost` must be a number"),
        (
            f"return {STOPPED}, cost=float('inf'))",
            "whose `cost` must be a number of dollars, not inf",
        ),
        (f"return {STOPPED}, cost=10**400)", "must be a number of dollars, not 1000"),
        *(
            (
                f"return {ANSWER.format(text=repr('x'), finish='Finish.STOP')}".replace(
                    "Usage()", f"Usage({count}, 1)"
                ),
                "whose `usage` must have numbers of tokens, not",
            )
            for count in ("10**400", "-5", "True", "float('nan')", "'1'")
        ),
        ("raise SystemExit(0)", "failed: SystemExit: 0"),
        ("raise GeneratorExit", "failed: GeneratorExit"),
        ("return None", "returned None for a Completion"),
        ("return 'text'", "returned 'text' for a Completion"),
        (
            "return Completion(Message('assistant', [Text('x')]), Finish.STOP, '', Usage(), 'odd', {})",
            "it returned a Message whose `parts` must be of type tuple",
        ),
        ("async def later(): pass\n    return later()", "it is async; use a plain function"),
    ]
    code = PROVIDER.format(complete="return globals()[call.model](call)", made="return Odd()")
    code += "".join(
        f"def step{number}(call):\n    {step}\n\n" for number, (step, _) in enumerate(mistakes)
    )
    _, _, outcomes = run_each(
        tmp_path, code, *(f"--model odd/step{number} --query q" for number in range(len(mistakes)))
    )
    for (step, words), (outcome, summary, hint) in zip(mistakes, outcomes, strict=True):
        assert (outcome, words in summary, "code-commit-odd" in summary) == (
            "PROVIDER_FAILED",
            True,
            True,
        ), outcomes
        if "made up" in step:
            advice = "check the name of the model, "
        else:
            advice = "this is a bug in its plugin; --debug shows"
        assert hint.startswith(advice)


@pytest.mark.slow
def test_the_halves_of_a_character_in_a_reply_are_joined(tmp_path, asking):
    text = ANSWER.format(text=ascii("\ud83d\ude42"), finish="Finish.STOP")
    code = PROVIDER.format(complete=f"return {text}", made="return Odd()")
    plugins = [asking, install_plugin(tmp_path / "odd", "odd", code)]
    finished = Project.create(tmp_path).command(
        "--json", "--ask", "--model", "odd", plugins=plugins
    )
    assert finished.events[-1]["data"]["data"]["answers"] == ["\U0001f642"] * 2


def test_a_factory_that_makes_no_provider_is_named(tmp_path):
    mistakes = [
        "return None",
        "raise RuntimeError('on purpose')",
        "raise SystemExit(0)",
        "async def later(): pass\n    return later()",
    ]
    code = PROVIDER.format(complete="pass", made="return globals()[config.model](config)")
    code += "".join(
        f"def made{number}(config):\n    {step}\n\n" for number, step in enumerate(mistakes)
    )
    _, _, errors = run_each(
        tmp_path, code, *(f"--model odd/made{number} --query q" for number in range(len(mistakes)))
    )
    assert [(name, "code-commit-odd" in text, hint) for name, text, hint in errors] == [
        ("NotReady", True, "this is a bug in its plugin; --debug shows where")
    ] * len(mistakes)


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize(
    ("encode", "words"),
    [
        ("async def encode(self, request): pass", "TypeError: it is async; use a plain function"),
        ("def encode(self, request): return {}", "TypeError: it returned {} for a HttpCall"),
    ],
)
def test_a_wire_that_encodes_no_call_is_named(tmp_path, encode, words):
    code = PROVIDER.format(complete="pass", made="return Odd()").replace(
        "class Odd:", f"class Odd:\n    {encode}"
    )
    _, finished, end = ran(tmp_path, code.replace('"",', '"http://127.0.0.1:9",'), "--model", "odd")
    assert finished.exit_code == 4
    assert end["summary"] == f"the provider odd of code-commit-odd failed: {words}"
    assert "never awaited" not in finished.stderr


def test_a_workflow_without_roles_gets_no_model(tmp_path):
    _, finished, end = ran(tmp_path, WORKFLOW.format(run="run.model()"), "--odd")
    assert finished.exit_code == 3
    assert (
        end["summary"]
        == "odd asked for a model of the role 'default', which its definition does not declare"
    )
    assert end["data"]["hint"] == "this is a bug in its plugin"


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


@pytest.mark.parametrize("name", ["odd_plugin:Config", "odd_plugin:made"])
def test_code_of_a_provider_that_is_not_there_is_named(tmp_path, name):
    code = PROVIDER.format(complete="pass", made="return Odd()").replace(
        f'"{name}"', '"nowhere:Nothing"'
    )
    _, finished, end = ran(tmp_path, code, "--model", "odd")
    assert finished.exit_code == 3
    assert (
        "code-commit-odd cannot be created: ModuleNotFoundError: No module named 'nowhere'"
        in end["summary"]
    )


WORKFLOWS = """
from code_commit.plugin_api import *

{code}


@hookimpl
def code_commit_workflows():
    def workflow(name, run=None, **more):
        flags = (Flag((f"--{{name}}",), name, selects=True),)
        return WorkflowDefinition(
            name, name, flags, run or f"odd_plugin:{{name}}", writes=False, roles=None, **more
        )

    return {definitions}
"""


def test_a_workflow_that_gives_no_result_is_named(tmp_path):
    mistakes = [
        ("raise GeneratorExit", "GeneratorExit"),
        ("return None", "returned None for a Result"),
        ("return 'text'", "returned 'text' for a Result"),
        (
            "return Result(5, None, 7)",
            "it returned a Result whose `outcome` must be of type Outcome, not 5",
        ),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("return Result(Outcome.REACHED, None)", "`summary` must be of type str, not None"),
        ("return Result(Outcome.REACHED, 'done', 7)", "`data` must be of type Mapping, not 7"),
        ("return Result(Outcome.REACHED, 'done', hint=7)", "`hint` must be of type str, not 7"),
        ("async def later(): pass\n    return later()", "it is async; use a plain function"),
    ]
    code = "".join(
        f"def odd{number}(run):\n    {step}\n\n" for number, (step, _) in enumerate(mistakes)
    )
    code = WORKFLOWS.format(
        code=code, definitions=f"[workflow(f'odd{{n}}') for n in range({len(mistakes)})]"
    )
    _, _, errors = run_each(tmp_path, code, *(f"--odd{number}" for number in range(len(mistakes))))
    assert [
        (name, words in text, "code-commit-odd" in text)
        for (name, text, _), (_, words) in zip(errors, mistakes, strict=True)
    ] == [("INTERNAL", True, True)] * len(mistakes), errors


def test_an_event_or_result_that_is_no_json_names_the_plugin(tmp_path):
    mistakes = [
        ("run.span('no kind', x=object()).__enter__()", "emit"),
        ("return Result(Outcome.REACHED, 'done', {'x': object()})", "result"),
        ("run.emit(7)", "emit"),
        ("run.emit(object())", "emit"),
    ]
    end = "\n    return Result(Outcome.REACHED, 'done')\n\n"
    code = "".join(
        f"def odd{number}(run):\n    {step}{end}" for number, (step, _) in enumerate(mistakes)
    )
    code = WORKFLOWS.format(
        code=code, definitions=f"[workflow(f'odd{{n}}') for n in range({len(mistakes)})]"
    )
    project, finished, outcomes = run_each(
        tmp_path, code, *(f"--odd{number}" for number in range(len(mistakes)))
    )
    assert outcomes == [["REACHED", "done", ""]] * len(mistakes)
    for number, (_, stage) in enumerate(mistakes):
        (events,) = project.root.glob(f"logs/*-odd{number}/events.jsonl")
        failed = [
            event["data"]
            for event in map(json.loads, events.read_text().splitlines())
            if event["kind"] == "plugin.failed"
        ]
        assert {
            (failure["plugin"], failure["distribution"], failure["stage"]) for failure in failed
        } == {("odd", "code-commit-odd", stage)}
        assert f"plugin odd of code-commit-odd failed ({stage})" in finished.stderr


def test_code_of_a_workflow_that_cannot_be_used_is_named_before_the_run(tmp_path):
    code = "def one(run): pass\ndef none(): pass\nasync def later(run): pass"
    mistakes = {
        "'odd_plugin:one', options='odd_plugin:Nothing'": "options 'odd_plugin:Nothing' cannot be imported: ",
        "'odd_plugin:none'": "run 'odd_plugin:none' is called with 1 argument: too many positional arguments",
        "'odd_plugin:one', options='odd_plugin:one'": "options 'odd_plugin:one' is not a pydantic model",
        "'odd_plugin:one', root='odd_plugin:one'": "root 'odd_plugin:one' is called with 2 arguments: too many",
        "'odd_plugin:nothing'": "run 'odd_plugin:nothing' cannot be imported: AttributeError",
        "'odd_plugin'": "run 'odd_plugin' is not callable",
        "'odd_plugin:later'": "run 'odd_plugin:later' is async; use a plain function",
    }
    definitions = ", ".join(
        f"workflow('odd{number}', {mistake})" for number, mistake in enumerate(mistakes)
    )
    code = WORKFLOWS.format(code=code, definitions=f"[{definitions}]")
    project, _, errors = run_each(
        tmp_path, code, *(f"--odd{number}" for number in range(len(mistakes)))
    )
    for number, ((name, text, hint), words) in enumerate(
        zip(errors, mistakes.values(), strict=True)
    ):
        assert (name, hint) == ("UsageError", "fix or uninstall the plugin")
        assert text.startswith(
            f"the workflow odd{number} of code-commit-odd 1.0 is broken: {words}"
        )
    assert not (project.root / "logs").exists()


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
@pytest.mark.parametrize(
    "judge", ["raise GeneratorExit", "raise SystemExit(0)", "return True", "return 'fine'"]
)
def test_a_rule_that_gives_no_verdict_allows_nothing(tmp_path, judge):
    code = (
        RULE.format(judge=judge)
        + "from code_commit_testing.scripted_provider import code_commit_providers\n"
    )
    replies = json.dumps(["^^^a.txt\nnew\n^^^end\n"])
    settings = f"[providers.scripted.default]\nreplies = {replies}\n"
    project, finished, end = ran(
        tmp_path, code, "--model", "scripted", settings=settings, group="code_commit.path_rules"
    )
    assert (finished.exit_code, project.read("a.txt")) == (5, "old\n")
    assert "code-commit-odd" in end["summary"]


DONE = WORKFLOW.format(run="return Result(Outcome.REACHED, 'done')")


def test_a_misspelled_role_or_provider_is_named(tmp_path):
    cases = {
        '[providers]\nplaner = "gemini.default"\n': "there is no role 'planer'; did you mean planner?",
        '[providers.gemni.default]\nmodel = "m"\n': "there is no provider 'gemni'; did you mean gemini?",
        '[providers]\ncritic = "gemni.default"\n': "there is no provider 'gemni'; did you mean gemini?",
        '[providers]\ncoach = "anthropic.default"\ncritic = "odd.default"\n': "",
        '[providers.gemini.fast]\nmodel = "m"\n[providers]\ncoach = "gemini.fast"\ncritic = "odd.default"\n': "",
        '[providers.odd.default]\nmodel = "m"\n[providers]\ncritic = "odd.default"\n': "",
    }
    code = DONE.replace("roles=None", "roles=('critic',)") + PROVIDER.format(
        complete="pass", made="return Odd()"
    )
    _, _, errors = run_each(tmp_path, code, *(f"--odd\n{settings}" for settings in cases))
    for words, (name, text, hint) in zip(cases.values(), errors, strict=True):
        if words:
            assert (name, words in text) == ("NotReady", True)
            assert hint == "fix the name, install its plugin, or remove the setting"
        else:
            assert (name, text, hint) == ("REACHED", "done", "")


@pytest.mark.slow
def test_what_a_plugin_may_offer_that_fails_is_no_mistake(tmp_path):
    plugins = install_plugin(tmp_path / "plugins", "broken", "raise ValueError")
    install_plugin(plugins, "odd", DONE)
    project = Project.create(tmp_path)
    project.write({"agent-config/config.toml": '[providers.theirs.default]\nmodel = "m"\n'})
    assert project.command("--odd", plugins=[plugins]).exit_code == 0


def test_a_broken_run_token_is_named(tmp_path):
    code = PROVIDER.format(complete="raise AssertionError", made="return Odd()").replace(
        '"odd_plugin:made",', '"odd_plugin:made", run_token="odd_plugin:token",'
    )
    code += "\n\ndef token(model, root):\n    1 / 0\n"
    _, finished, _ = ran(tmp_path, code, "--model", "odd")
    assert finished.exit_code == 3
    assert (
        "the provider odd of code-commit-odd cannot be created: ZeroDivisionError"
        in finished.stderr
    )


FAILING = """
class Sink:
    def receive(self, record):
        raise KeyError("in the sink")
    def close(self):
        pass

@hookimpl
def code_commit_log_sinks():
    return [Sink()]

@hookimpl
def code_commit_after_run():
    raise KeyError("after the run")
"""


def test_debug_shows_the_tracebacks_of_a_path_rule_and_other_code_of_plugins(tmp_path):
    work = "run.check([Change('a.txt', b'new')]); return Result(Outcome.REACHED, 'ok')"
    code = WORKFLOW.replace("writes=False", "writes=True").format(run=work)
    rule = RULE.format(judge="raise KeyError('in the rule')").partition("hookimpl\n")[2]
    project = Project.create(tmp_path)
    plugins = install_plugin(
        tmp_path / "plugins", "odd", code + rule + FAILING, group="code_commit.path_rules"
    )
    quiet = project.command("--odd", plugins=[plugins])
    shown = project.command("--odd", "--debug", plugins=[plugins])
    assert (quiet.exit_code, shown.exit_code) == (0, 0), shown.stderr
    assert "Traceback" not in quiet.stderr
    assert "in judge\n    raise KeyError('in the rule')" in shown.stderr
    assert 'in receive\n    raise KeyError("in the sink")' in shown.stderr
    assert 'in code_commit_after_run\n    raise KeyError("after the run")' in shown.stderr
    assert shown.stderr.count("Traceback") == 3
