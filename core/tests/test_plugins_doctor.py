"""`code-commit plugins doctor` finds what a start does not look at."""

from __future__ import annotations

import pytest

from code_commit import __version__
from code_commit_testing import Project, install_plugin

GOOD = """
from pydantic import BaseModel
from dataclasses import dataclass
from typing import ClassVar
from code_commit.plugin_api import (
    CheckDefinition,
    CommandDefinition,
    Event,
    Flag,
    HttpCall,
    ProviderDefinition,
)
from code_commit.plugin_api import WorkflowDefinition, hookimpl, hookspec


class Config(BaseModel):
    model: str = "m"


class Wire:
    def __init__(self, config):
        self.config = config

    def encode(self, request):
        return HttpCall("/replies", {})

    def decode(self, status, headers, body):
        pass


class Options(BaseModel):
    twice: bool = False


class Sink:
    def receive(self, record):
        pass

    def close(self):
        pass


def run(run):
    pass


@hookimpl
def code_commit_settings():
    return "sound_plugin:Options"


@hookimpl
def code_commit_providers():
    return [
        ProviderDefinition(
            "sound",
            {"sound-1": ()},
            "https://example.org/v1",
            None,
            None,
            ("authorization", "Bearer {key}"),
            "sound_plugin:Config",
            "sound_plugin:Wire",
        )
    ]


@hookimpl
def code_commit_workflows():
    flags = (Flag(("--sound",), "choose it", selects=True), Flag(("--twice",), "twice"))
    return [
        WorkflowDefinition(
            "sounding", "a workflow", flags, "sound_plugin:run", options="sound_plugin:Options"
        )
    ]


@hookimpl
def code_commit_log_sinks(settings):
    return [Sink()]


GIVEN = {}


@dataclass(frozen=True, slots=True)
class Heard(Event):
    kind: ClassVar[str] = "sound.heard"
    loud: bool


class Hooks:
    @hookspec
    def code_commit_sounds(settings):
        pass


@hookimpl
def code_commit_addhooks(pluginmanager):
    pluginmanager.add_hookspecs(Hooks)


def add(parser):
    pass


def say(host, arguments):
    pass


@hookimpl
def code_commit_commands():
    return [CommandDefinition("sound", "a command", "sound_plugin:say", "sound_plugin:add")]


def look(host, context):
    return []


@hookimpl
def code_commit_checks():
    return [CheckDefinition("sound", "sound_plugin:look")]


def layer(call, next):
    return next(call)


@hookimpl
def code_commit_secrets():
    return ["SOUND_TOKEN"]


@hookimpl
def code_commit_model_layers(settings, secret, models):
    secret("SOUND_TOKEN")
    second = models("openai.backup")
    assert second.name and second.provider
    return [layer]
"""
RULE = """
from code_commit.plugin_api import hookimpl

class Rule:
    name = "rule"
    def judge(self, changes, tree):
        return ()

@hookimpl
def code_commit_path_rules(settings):
    return [Rule()]
"""
OPTIONS_AT_THE_END = """options="sound_plugin:Options"
        )
    ]

"""
WANTS_AT_THE_END = OPTIONS_AT_THE_END.replace("Options", "Wants")
WRONG = {
    "a factory that is not there": ('"sound_plugin:Wire",', '"sound_plugin:Wires",', "provider sound", "sound_plugin:Wires"),
    "a config that is no model": ('"sound_plugin:Config",', '"sound_plugin:run",', "provider sound", "not a pydantic model"),
    "a config without a model": ("    model: str", "    modell: str", "provider sound", "no field `model`"),
    "an address without encryption": ('"https://example', '"http://example', "provider sound", "plain http to another machine"),
    "a header without the key": ('"Bearer {key}"', '"Bearer"', "provider sound", "{key}"),
    "a header without a name": ('"authorization", "Bearer', '"", "Bearer', "provider sound", "key_header names no valid header: ''"),
    "a header name with a colon": ('"authorization", "Bearer', '"x-key:", "Bearer', "provider sound", "key_header names no valid header: 'x-key:'"),
    "a key that no variable can hold": ('None,\n            ("auth', '"SOUND KEY",\n            ("auth', "provider sound", "key_variable must be the name of an environment variable, not 'SOUND KEY'"),
    "a key that every process needs": ('None,\n            ("auth', '"PATH",\n            ("auth', "provider sound", "key_variable is PATH, which every process needs"),
    "a window that is no number": ('"sound_plugin:Wire",', '"sound_plugin:Wire", windows={"sound-1": "8k"},', "provider sound", "windows must map model ids to numbers of tokens, not 'sound-1' to '8k'"),
    "a layer that yields": ("return next(call)", "yield next(call)", "code_commit_model_layers", "layer contains `yield`, so a call of it does nothing"),
    "an address that is none": ('"https://example.org/v1"', '"example"', "provider sound", "not an http or https URL"),
    "a wire without decode": ("def decode", "def decoded", "provider sound", "Wire.decode is missing"),
    "an async wire": ("def encode", "async def encode", "provider sound", "Wire.encode is async; use a plain function"),
    "a wire with fewer arguments": ("status, headers, body", "status, body", "provider sound", "Wire.decode is called with 3 arguments"),
    "a factory that makes no provider": ("def encode", "def encoded", "provider sound", "makes Wire, which has neither `encode` nor `complete`"),
    "a factory that raises": ("self.config = config", "raise KeyError('x')", "provider sound", "factory 'sound_plugin:Wire' failed: KeyError: 'x'"),
    "a factory without a signature": ('"sound_plugin:Wire",', '"builtins:getattr",', "provider sound", "factory 'builtins:getattr' failed: "),
    "a provider that cannot be closed": ("def encode(self, request)", "def complete(self, call)", "provider sound", "Wire.close is missing"),
    "a provider with an address": ("def encode(self, request)", "close = print\n    def complete(self, call)", "provider sound", "`base_url` must be empty"),
    "an event of another plugin": ('"sound.heard"', '"foo.bar"', "event Heard", "its kind must be `sound.<what>`, not 'foo.bar'"),
    "an event without a kind": ('"sound.heard"', '""', "event Heard", "its kind must be `sound.<what>`, not ''"),
    "a hook of its own without the prefix": ("def code_commit_sounds", "def sounds", "code_commit_addhooks", "the name of the hook sounds must begin with code_commit_"),
    "a hook of its own with two arguments": ("sounds(settings)", "sounds(settings, run)", "code_commit_addhooks", "the hook code_commit_sounds gets no run"),
    "a workflow that is not there": ("sound_plugin:run", "nowhere:run", "workflow sounding", "No module named 'nowhere'"),
    "a flag without its field": ('("--twice",)', '("--thrice",)', "workflow sounding", "no field 'thrice'"),
    "a setting that does not fit its flag": (OPTIONS_AT_THE_END, WANTS_AT_THE_END + 'class Wants(BaseModel):\n    twice: str = ""\n', "workflow sounding", "the default False of the setting 'twice' does not fit its flag"),
    "an event that is no dataclass": ("@dataclass(frozen=True, slots=True)\nclass Heard", "class Heard", "event Heard", "it must be a frozen dataclass"),
    "a sink that cannot be closed": ("    def close(self)", "    def shut(self)", "code_commit_log_sinks", "Sink.close is missing"),
    "settings that are no model": ('return "sound_plugin:Options"', 'return "sound_plugin:Sink"', "code_commit_settings", "not a pydantic model"),
    "settings that are not there": ('return "sound_plugin:Options"', 'return "sound_plugin:X"', "code_commit_settings", "'sound_plugin:X' cannot be imported"),
    "a hook that raises": ("return [Sink()]", "raise KeyError(1)", "code_commit_log_sinks", "KeyError"),
    "a command that is not there": ("sound_plugin:say", "nowhere:say", "command sound", "No module named 'nowhere'"),
    "arguments that are not callable": ("sound_plugin:add", "sound_plugin:GIVEN", "command sound", "arguments 'sound_plugin:GIVEN' is not callable"),
    "a command of the host": ('CommandDefinition("sound"', 'CommandDefinition("undo"', "command", "claimed by code-commit and code-commit-sound"),
    "a check that is not there": ("sound_plugin:look", "nowhere:look", "check sound", "No module named 'nowhere'"),
    "a check without a context": ("def look(host, context)", "def look(host)", "check sound", "is called with 2 arguments"),
    "a check that is none": ('[CheckDefinition("sound", "sound_plugin:look")]', "[look]", "code_commit_checks", "must be a CheckDefinition"),
    "a layer that cannot be called": ("return [layer]", "return [7]", "code_commit_model_layers", "int is not callable"),
    "an async layer": ("def layer(", "async def layer(", "code_commit_model_layers", "layer is async; use a plain function"),
    "a layer without `next`": ("layer(call, next)", "layer(call)", "code_commit_model_layers", "layer is called with 2 arguments: too many"),
    "a class for a layer": ("return [layer]", "return [Sink]", "code_commit_model_layers", "Sink is a class; return an object of it"),
    "a class for a sink": ("return [Sink()]", "return [Sink]", "code_commit_log_sinks", "Sink is a class; return an object of it"),
    "an async sink": ("def receive", "async def receive", "code_commit_log_sinks", "Sink.receive is async; use a plain function"),
    "a sink without a record": ("def receive(self, record)", "def receive(self)", "code_commit_log_sinks", "Sink.receive is called with 1 argument"),
    "a sink that yields": ("(self, record):\n        pass", "(self, record):\n        yield", "code_commit_log_sinks", "Sink.receive contains `yield`, so a call of it does nothing"),
    "a workflow that yields": ("def run(run):\n    pass", "def run(run):\n    yield", "workflow sounding", "run 'sound_plugin:run' contains `yield`"),
    "a field that nobody can set": (OPTIONS_AT_THE_END, WANTS_AT_THE_END + "class Wants(Options):\n    other: int\n", "workflow sounding", "the field 'other' of sound_plugin:Wants is required, but no flag sets it"),
    "a hook with another prefix": ("def code_commit_secrets", "def codecommit_secrets", "codecommit_secrets", "did you mean code_commit_secrets?"),
    "a close that takes more": ("def close(self)", "def close(self, x)", "code_commit_log_sinks", "is called with 0 arguments: missing a required argument: 'x'"),
    "an async workflow": ("def run(", "async def run(", "workflow sounding", "run 'sound_plugin:run' is async"),
    "a workflow without a run": ("def run(run)", "def run()", "workflow sounding", "is called with 1 argument"),
    "an async command": ("def say(", "async def say(", "command sound", "run 'sound_plugin:say' is async"),
    "a command without arguments": ("def say(host, arguments)", "def say(host)", "command sound", "is called with 2 arguments"),
    "async arguments": ("def add(", "async def add(", "command sound", "arguments 'sound_plugin:add' is async"),
    "arguments that raise": ("(parser):\n    pass", "(parser):\n    parser.add_argument('--help')", "examination", "conflicting option string"),
    "arguments without a parser": ("def add(parser)", "def add()", "command sound", "arguments 'sound_plugin:add' is called with 1 argument"),
    "an async hook": ("@hookimpl\ndef code_commit_secrets", "@hookimpl\nasync def code_commit_secrets", "code_commit_secrets", "it is async; use a plain function"),
    "an async hook that doctor does not call": ("GIVEN = {}", "@hookimpl\nasync def code_commit_after_run(run):\n    pass", "code_commit_after_run", "it is async; use a plain function"),
    "a workflow that no flag selects": (", selects=True", "", "workflow sounding", "no flag selects it, so it never runs"),
    "a flag with a value and no options": (', options="sound_plugin:Options"', "", "workflow sounding", "has no field 'twice' in `options`, which the definition does not name"),
    "options that are no model": ('options="sound_plugin:Options"', 'options="sound_plugin:Sink"', "workflow sounding", "options 'sound_plugin:Sink' is not a pydantic model"),
    "no hook": (GOOD, "", "import", "it implements no hook"),
    "a hook of layers that raises": ("return [layer]", "raise KeyError(1)", "code_commit_model_layers", "KeyError"),
    "a secret that is not declared": ('secret("SOUND_TOKEN")', 'secret("TOKEN")', "code_commit_model_layers", "'TOKEN', which it does not declare"),
    "a wrong argument of a hook": ("code_commit_log_sinks(settings)", "code_commit_log_sinks(setings)", "code_commit_log_sinks", "setings"),
    "a misspelled hook": ("def code_commit_log_sinks", "def code_commit_log_sink", "code_commit_log_sink", "did you mean code_commit_log_sinks?"),
    "an import that fails": ("from pydantic", "from pydantik", "import", "pydantik"),
    "a factory that returns nothing": ("class Wire:\n    def __init__(self, config):\n        self.config = config\n", "def Wire(config):\n    pass\n\n\nclass Other:\n", "provider sound", "factory 'sound_plugin:Wire' returns None"),
    "a secret that every process needs": ('["SOUND_TOKEN"]', '["SOUND_TOKEN", "PATH"]', "code_commit_secrets", "PATH cannot be a secret"),
    "a sink that fails at its first record": ("(self, record):\n        pass", "(self, record):\n        record.data['nothing']", "code_commit_log_sinks", "Sink.receive failed at its first record: KeyError: 'nothing'"),
    "a layer that fails at its first call": ("return next(call)", "return next(call).nothing", "code_commit_model_layers", "a model layer of code-commit-sound failed: AttributeError"),
    "a layer that returns nothing": ("return next(call)", "next(call)", "code_commit_model_layers", "it returned None for a Completion"),
    "what prints at import": ("class Sink:", "print('{')\nclass Sink(Nothing):", "import", "Nothing"),
}  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Return a project that no test changes."""
    return Project.create(tmp_path_factory.mktemp("doctor"))


def examined(project, tmp_path, code, group="code_commit"):
    folder = install_plugin(tmp_path / "plugins", "sound", code, group=group)
    finished = project.command("plugins", "doctor", "--json", plugins=[folder])
    return finished.exit_code, *findings(finished.document, "sound"), finished.document


def findings(document, name):
    """Return the problems of a plugin, and its row."""
    [row] = [plugin for plugin in document["plugins"] if plugin["name"] == name]
    return [problem for problem in document["problems"] if problem["plugin"] == name], row


def test_a_sound_plugin_is_found_sound(project, tmp_path):
    _, problems, row, document = examined(project, tmp_path, GOOD)
    assert (problems, row["sound"]) == ([], True)
    assert (row["distribution"], row["version"]) == ("code-commit-sound", "1.0")
    assert (row["group"], row["entry_point"]) == ("code_commit", "sound_plugin")
    assert row["load_ms"] > 0
    assert set(document["versions"]) == {"code-commit", "python"}


def renamed(text, number):
    """Return the text with the names of the plugin number `number`, so that many can be installed
    side by side.
    """
    for name in ("sound", "SOUND", "twice"):
        text = text.replace(name, f"{name}{number}_" if name == "SOUND" else f"{name}{number}")
    return text


@pytest.fixture(scope="module")
def all_wrong(project, tmp_path_factory):
    """Examine all that is in `WRONG`, in one process."""
    folder = tmp_path_factory.mktemp("wrong")
    for number, (right, wrong, _, _) in enumerate(WRONG.values()):
        assert GOOD.count(right) >= 1
        install_plugin(folder, f"sound{number}", renamed(GOOD.replace(right, wrong), number))
    return project.command("plugins", "doctor", "--json", plugins=[folder])


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_named(all_wrong, what):
    number = list(WRONG).index(what)
    stage, words = (renamed(text, number) for text in WRONG[what][2:])
    problems, row = findings(all_wrong.document, f"sound{number}")
    assert not row["sound"]
    assert [
        problem for problem in problems if problem["stage"] == stage and words in problem["error"]
    ], problems


def test_a_problem_is_exit_1(project, tmp_path):
    exit_code, _, _, document = examined(
        project, tmp_path, GOOD.replace(', "sound_plugin:add"', ', "sound_plugin:GIVEN"')
    )
    assert (exit_code, len(document["problems"])) == (1, 1)


@pytest.mark.parametrize(
    ("method", "fault"), [("decode", ""), ("decoded", "Wire.decode is missing")]
)
def test_a_wire_whose_config_has_no_defaults_is_examined_as_a_class(
    project, tmp_path, method, fault
):
    code = GOOD.replace('model: str = "m"', "model: str\n    place: str").replace(
        "def decode", f"def {method}"
    )
    _, problems, _, _ = examined(project, tmp_path, code)
    assert [problem["error"] for problem in problems] == ([fault] if fault else [])


@pytest.mark.parametrize("address", ["http://127.0.0.1:11434", "http://localhost:8080/v1", ""])
def test_an_address_of_this_machine_is_allowed(project, tmp_path, address):
    assert examined(project, tmp_path, GOOD.replace("https://example.org/v1", address))[1] == []


def test_a_sound_path_rule_is_found_sound(project, tmp_path):
    exit_code, problems, row, _ = examined(project, tmp_path, RULE, "code_commit.path_rules")
    assert (exit_code, problems, row["sound"]) == (0, [], True)


WRONG_RULES = [
    ('    name = "rule"', "    nam = 1", "code_commit.path_rules", "no `name`"),
    (
        "def judge",
        "async def judge",
        "code_commit.path_rules",
        "Rule.judge is async; use a plain function",
    ),
    (
        "(self, changes, tree)",
        "(self, changes)",
        "code_commit.path_rules",
        "Rule.judge is called with 2 arguments",
    ),
    ("Rule()", "Rule", "code_commit.path_rules", "Rule is a class; return an object of it"),
    ("def judge", "def decide", "code_commit.path_rules", "Rule.judge is missing"),
    (
        "return ()",
        "return True",
        "code_commit.path_rules",
        "Rule.judge must return Refusals of changed paths, but it returned bool",
    ),
    (
        "return ()",
        "return None",
        "code_commit.path_rules",
        "Rule.judge must return Refusals of changed paths, but it returned NoneType",
    ),
    ("return ()", "return [False]", "code_commit.path_rules", "but it returned bool as a refusal"),
    (
        "return ()",
        "from code_commit.plugin_api import Refusal; return [Refusal('./x', 'rule', 'no')]",
        "code_commit.path_rules",
        "but it refused './x', which is not among the changes",
    ),
    (
        "return ()",
        "raise KeyError(1)",
        "code_commit.path_rules",
        "Rule.judge failed for a new file: KeyError",
    ),
    (
        "return ()",
        "changes[0].content.hex(); return ()",
        "code_commit.path_rules",
        "failed for a deleted file",
    ),
    (
        "return ()",
        "(one,) = changes; return ()",
        "code_commit.path_rules",
        "Rule.judge failed for two files at once",
    ),
    (
        "return ()",
        "raise SystemExit(0)",
        "code_commit.path_rules",
        "Rule.judge failed for a new file: SystemExit: 0",
    ),
    ('"rule"', '""', "code_commit.path_rules", "the `name` of Rule is empty"),
    (
        "return ()",
        "from code_commit.plugin_api import Refusal; return [Refusal('', 'rule', 'no', then='retry')]",
        "code_commit.path_rules",
        "returned a refusal whose `then` is 'retry'",
    ),
    ("", "", "code_commit", "entry point group code_commit.path_rules"),
]


def test_a_path_rule_is_examined_with_its_group(project, tmp_path):
    for number, (right, wrong, group, _) in enumerate(WRONG_RULES):
        assert right in RULE
        folder = install_plugin(
            tmp_path / "plugins", f"rule{number}", RULE.replace(right, wrong), group=group
        )
    finished = project.command("plugins", "doctor", "--json", plugins=[folder])
    assert finished.exit_code == 1
    for number, (*_, words) in enumerate(WRONG_RULES):
        problems, row = findings(finished.document, f"rule{number}")
        assert not row["sound"]
        assert [problem["stage"] for problem in problems] == ["code_commit_path_rules"], words
        assert words in problems[0]["error"]


def test_everything_that_is_installed_here_is_sound(project):
    finished = project.command("plugins", "doctor")
    assert finished.exit_code == 0, finished.stdout
    assert finished.stdout.endswith("nothing is wrong\n")


@pytest.mark.parametrize(
    ("right", "wrong", "fault"),
    [
        ("return [Sink()]", "return []", ""),
        ("def code_commit_log_sinks", "def sinks", ""),
        ("def receive", "async def receive", "Sink.receive is async; use a plain function"),
        (
            "(self, record)",
            "(self)",
            "Sink.receive is called with 1 argument: too many positional arguments",
        ),
    ],
)
def test_a_sink_that_needs_settings_is_examined_as_a_class(project, tmp_path, right, wrong, fault):
    code = GOOD.replace(right, wrong)
    if wrong == "def sinks":
        code = code.replace(
            "@hookimpl\ndef sinks", "@hookimpl(specname='code_commit_log_sinks')\ndef sinks"
        )
    else:
        code = code.replace("return [Sink()]", "return []")
    _, problems, _, _ = examined(project, tmp_path, code)
    assert [problem["error"] for problem in problems] == ([fault] if fault else [])


def test_two_distributions_with_one_name_are_told(project, tmp_path):
    folders = [
        install_plugin(tmp_path / which, "sound", GOOD, distribution=f"code-commit-{which}")
        for which in ("one", "two")
    ]
    finished = project.command("plugins", "doctor", plugins=folders)
    assert finished.exit_code == 1
    assert "code-commit-one and code-commit-two" in finished.stdout


def test_a_section_that_does_not_fit_is_told(tmp_path):
    project = Project.create(tmp_path)
    project.write({"agent-config/config.toml": "[plugins.sound]\ntwice = 7\n"})
    _, problems, _, _ = examined(project, tmp_path, GOOD)
    assert any("twice" in problem["error"] for problem in problems)


SERIES = __version__.rpartition(".")[0]
NEEDED = {
    "code-commit>=9.1": True,
    f"code_commit[testing] (<{SERIES})": True,
    "code-commit~=0.0.9": True,
    "code-commit==0.0.9": True,
    f"code-commit!={__version__}": True,
    f"code-commit=={SERIES}.*": False,
    "code-commit>=9; python_version < '3'": False,
    f"code-commit>={SERIES},<9": False,
    f"code-commit~={SERIES}": False,
    "code-commit-toolbox>=9": False,
    "code-commit (=>0.1)": True,
}


def test_a_plugin_for_another_version_of_the_host_is_told(project, tmp_path):
    for number, needed in enumerate(NEEDED):
        folder = install_plugin(tmp_path / "plugins", f"sound{number}", renamed(GOOD, number))
        with (folder / f"code_commit_sound{number}-1.0.dist-info/METADATA").open("a") as metadata:
            metadata.write(f"Requires-Dist: {needed}\n")
    document = project.command("plugins", "doctor", "--json", plugins=[folder]).document
    for number, (needed, wrong) in enumerate(NEEDED.items()):
        problems, _ = findings(document, f"sound{number}")
        assert [problem["stage"] for problem in problems].count("version") == wrong, needed


def test_other_requirements_and_the_name_of_the_entry_point_are_examined(project, tmp_path):
    folder = install_plugin(tmp_path / "plugins", "sound", GOOD)
    info = folder / "code_commit_sound-1.0.dist-info"
    (info / "entry_points.txt").write_text("[code_commit]\na b = sound_plugin\n")
    needed = ("code-commit-nowhere", "pluggy>=99", "pluggy", "nowhere; extra == 'more'")
    with (info / "METADATA").open("a") as metadata:
        metadata.writelines(f"Requires-Dist: {text}\n" for text in needed)
    document = project.command("plugins", "doctor", "--json", plugins=[folder]).document
    problems = findings(document, "a b")[0]
    errors = [problem["error"] for problem in problems if problem["stage"] == "requirements"]
    assert errors[0] == "it needs code-commit-nowhere, which is not installed"
    assert errors[1].startswith("it needs pluggy>=99, and ")
    assert len(errors) == 2
    assert any(problem["stage"] == "name" for problem in problems)


def test_a_wrong_group_of_entry_points_is_named(project, tmp_path):
    folder = install_plugin(tmp_path / "plugins", "lost", GOOD, group="code_commit_plugins")
    finished = project.command("plugins", "doctor", plugins=[folder])
    assert finished.exit_code == 1
    assert "there is no group code_commit_plugins; did you mean code_commit?" in finished.stdout
    assert "code-commit-lost" in finished.stdout


def test_a_distribution_that_depends_on_the_host_and_registers_nothing_is_named(project, tmp_path):
    folder = install_plugin(tmp_path / "plugins", "lost", GOOD, group="somebody_elses")
    metadata = folder / "code_commit_lost-1.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text() + "Requires-Dist: code-commit>=0.1\n")
    finished = project.command("plugins", "doctor", plugins=[folder])
    assert finished.exit_code == 1
    assert "it depends on code-commit and registers no plugin" in finished.stdout


ITEMS = """
from code_commit.plugin_api import hookimpl
from code_commit_commit.hooks import Context, ResponseFormat


def choose(request):
    pass


def related(request, failure, changed):
    pass


async def slow(request):
    pass


def lazy(request):
    yield


@hookimpl(optionalhook=True)
def code_commit_contexts(settings):
    return [{context}]


@hookimpl(optionalhook=True)
def code_commit_formats():
    return [{format}]
"""
CONTEXT = 'Context("sound", "x", choose, related)'
FORMAT = 'ResponseFormat("sound", "x", "y", lambda text, tree: ())'
WRONG_ITEMS = {
    "a record of another kind": (FORMAT, FORMAT, "code_commit_contexts", "must give Contexts, not"),
    "an empty name": ('Context("", "x", choose)', FORMAT, "code_commit_contexts", "is empty"),
    "no function": ('Context("a", "x", "y")', FORMAT, "code_commit_contexts", "choose of a is not callable"),
    "an async function": ('Context("a", "x", slow)', FORMAT, "code_commit_contexts", "choose of a is async"),
    "a generator": ('Context("a", "x", lazy)', FORMAT, "code_commit_contexts", "contains `yield`"),
    "too few arguments": (CONTEXT, 'ResponseFormat("a", "x", "y", choose)', "code_commit_formats", "parse of a is called with 2 arguments"),
    "wrong optional function": ('Context("a", "x", choose, choose)', FORMAT, "code_commit_contexts", "related of a is called with 3 arguments"),
    "a hook that fails": ("1 / 0", FORMAT, "code_commit_contexts", "ZeroDivisionError"),
}  # fmt: skip


def test_what_plugins_give_for_the_hooks_of_others_is_examined(project, tmp_path):
    pytest.importorskip("code_commit_commit")
    install_plugin(tmp_path, "sound", ITEMS.format(context=CONTEXT, format=FORMAT))
    for number, (context, response_format, _, _) in enumerate(WRONG_ITEMS.values()):
        code = ITEMS.format(context=context, format=response_format)
        install_plugin(tmp_path, f"wrong{number}", code)
    document = project.command("plugins", "doctor", "--json", plugins=[tmp_path]).document
    assert findings(document, "sound")[0] == []
    for number, (_, _, stage, words) in enumerate(WRONG_ITEMS.values()):
        [problem] = findings(document, f"wrong{number}")[0]
        assert problem["stage"] == stage
        assert words in problem["error"]
