"""Commands of plugins, through the command itself."""

from __future__ import annotations

import json

import pytest

from code_commit_testing import install_plugin

CODE = """
from code_commit.plugin_api import CommandDefinition, ExitCode, hookimpl

@hookimpl
def code_commit_commands():
    return [CommandDefinition({name!r}, "greet somebody", "{module}:greet", "{module}:add_arguments")]

def add_arguments(parser):
    parser.add_argument("who")
    parser.add_argument("--json", action="store_true")

def greet(host, arguments):
    {body}
"""


@pytest.fixture
def install(tmp_path):
    def install(
        plugin="greeter",
        *,
        name="greet",
        body="host.out.line(f'hello {arguments.who}'); return 0",
        **options,
    ):
        module = f"{plugin.replace('-', '_')}_plugin"
        code = CODE.format(name=name, module=module, body=body)
        return [install_plugin(tmp_path / "plugins", plugin, code, **options)]

    return install


@pytest.mark.slow
def test_a_command_of_a_plugin_runs_and_is_in_the_help(project, install):
    plugins = install()
    finished = project.command("greet", "you", plugins=plugins)
    assert (finished.exit_code, finished.stdout, finished.stderr) == (0, "hello you\n", "")
    assert "greet           greet somebody" in project.command("--help", plugins=plugins).stdout
    assert (
        "usage: code-commit greet [--help]"
        in project.command("greet", "--help", plugins=plugins).stdout
    )
    assert project.command("greet", plugins=plugins).exit_code == 2
    listed = project.command("plugins", "--json", plugins=plugins).document["plugins"]
    assert [plugin["commands"] for plugin in listed if plugin["name"] == "greeter"] == [["greet"]]
    assert "command greet" in project.command("plugins", plugins=plugins).stdout


def test_without_the_settings_a_process_of_a_command_needs_the_sandbox(
    project, install, no_sandbox
):
    body = "host.workspace().run_command(['true'], log=host.root / 'log.txt', timeout=60); return 0"
    finished = project.command("greet", "you", plugins=install(body=body), environ=no_sandbox)
    assert (finished.exit_code, "error: no sandbox: bubblewrap" in finished.stderr) == (3, True), (
        finished.stderr
    )


def test_its_exit_code_and_its_errors_are_the_commands(project, install):
    body = "from code_commit.plugin_api import NotReady; raise NotReady('no cake', hint='bake one')"
    finished = project.command("greet", "you", "--json", plugins=install(body=body))
    assert (finished.exit_code, "no cake" in finished.stderr, "bake one" in finished.stderr) == (
        3,
        True,
        True,
    )
    assert [event["kind"] for event in finished.events] == ["run.finished"]


def test_a_refused_change_of_a_command_is_a_refusal(project, install):
    body = """
    from code_commit.plugin_api import Change
    with host.workspace(writes=True) as workspace:
        workspace.apply([Change("build.sh", b"")], run=workspace.begin("greeting"))
"""
    finished = project.command("greet", "you", "--json", plugins=install(body=body))
    assert (finished.exit_code, finished.events[-1]["data"]["outcome"]) == (5, "response_refused")
    assert "Responses cannot change it." in finished.stderr


@pytest.mark.slow
def test_two_owners_of_a_command_are_both_named(project, install):
    install("one")
    plugins = install("two")
    finished = project.command("greet", "you", plugins=plugins)
    assert (finished.exit_code, finished.stdout) == (2, "")
    assert "claimed by code-commit-one and code-commit-two" in finished.stderr
    assert "`code-commit --disable-plugin code-commit-one greet`" in finished.stderr
    left = project.command("--disable-plugin", "one", "greet", "you", plugins=plugins)
    assert (left.exit_code, left.stdout) == (0, "hello you\n")


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize("name", ["undo", "plugins", "completion"])
def test_a_command_of_the_host_cannot_be_taken(project, install, name):
    plugins = install(name=name)
    assert "hello" not in project.command(name, "you", plugins=plugins).stdout
    document = project.command("plugins", "--json", plugins=plugins).document
    assert name in json.dumps(document["failures"])


@pytest.mark.slow
def test_a_name_of_two_words_adds_to_a_command_without_arguments(project, install):
    plugins = install(name="plugins greet")
    finished = project.command("plugins", "greet", "you", plugins=plugins)
    assert (finished.exit_code, finished.stdout) == (0, "hello you\n")
    assert (
        "usage: code-commit plugins greet"
        in project.command("plugins", "greet", "--help", plugins=plugins).stdout
    )
    assert "greet somebody" in project.command("--help", plugins=plugins).stdout
    missing = project.command("plugins", "gret", plugins=plugins)
    assert missing.exit_code == 2
    assert "there is no command plugins gret; did you mean plugins greet?" in missing.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plugins  greet", "plugins greet you", " greet", "greet "])
def test_a_name_of_another_shape_is_malformed(project, install, name):
    [failure] = project.command("plugins", "--json", plugins=install(name=name)).document[
        "failures"
    ]
    assert "`name` must be one word or two" in failure["error"]


@pytest.mark.slow
def test_a_command_of_the_test_tools_names_what_to_install(project):
    finished = project.command("--disable-plugin", "testing", "plugins", "new", "parrot")
    assert finished.exit_code == 2
    assert (
        "the command plugins new is part of code-commit-testing, which --disable-plugin testing disables"
        in finished.stderr
    )


@pytest.mark.slow
def test_a_command_whose_plugin_is_broken_is_denied_with_the_error(project, tmp_path):
    plugins = [install_plugin(tmp_path / "plugins", "greeter", "import nowhere_to_be_found")]
    finished = project.command("greet", "you", plugins=plugins)
    assert finished.exit_code == 2
    assert "greeter" in finished.stderr
    assert "nowhere_to_be_found" in finished.stderr


@pytest.mark.parametrize("broken", ["greeter_plugin:greet", "greeter_plugin:add_arguments"])
def test_a_command_whose_code_is_missing_names_its_distribution(project, tmp_path, broken):
    code = CODE.format(name="greet", module="greeter_plugin", body="return 0").replace(
        f'"{broken}"', '"nowhere:greet"'
    )
    finished = project.command(
        "greet", "you", plugins=[install_plugin(tmp_path / "plugins", "greeter", code)]
    )
    assert finished.exit_code == 2
    assert "the command greet of code-commit-greeter 1.0 is broken" in finished.stderr


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise KeyError('z')", "KeyError: 'z'"),
        ("return None", "it returned None, not an exit code"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("raise SystemExit('no cake')", "SystemExit: no cake"),
    ],
)
def test_a_bug_in_a_command_names_its_distribution(project, install, body, words):
    finished = project.command("greet", "you", plugins=install(body=body))
    assert finished.exit_code == 70
    assert words in finished.stderr
    assert "in the command greet of code-commit-greeter" in finished.stderr
    assert "a bug in code-commit;" not in finished.stderr


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        (
            "def add_arguments",
            "async def add_arguments",
            "'greeter_plugin:add_arguments' is async; use a plain function",
        ),
        (
            "def greet(",
            "async def greet(",
            "run 'greeter_plugin:greet' is async; use a plain function",
        ),
        ("    parser.add_argument('who')", "    raise SystemExit(0)", "SystemExit: 0"),
        (
            "    parser.add_argument('who')",
            "    return later()\nasync def later(): pass\ndef unused():",
            "it is async",
        ),
        (
            "def greet(host, arguments)",
            "def greet(host)",
            "is called with 2 arguments: too many positional arguments",
        ),
        (
            "from code",
            "import sys\nif sys.argv[1:] == ['greet', 'you']: raise KeyError\nfrom code",
            "KeyError",
        ),
    ],
)
def test_a_command_that_cannot_run_names_its_distribution(
    project, install, tmp_path, right, wrong, words
):
    plugins = install()
    file = tmp_path / "plugins" / "greeter_plugin.py"
    file.write_text(file.read_text().replace('"who"', "'who'").replace(right, wrong))
    finished = project.command("greet", "you", plugins=plugins)
    assert (finished.exit_code, finished.stdout) == (2, "")
    assert "code-commit-greeter 1.0" in finished.stderr
    assert words in finished.stderr
    assert "never awaited" not in finished.stderr


def test_undo_works_whatever_becomes_of_plugins(project, tmp_path):
    plugins = [install_plugin(tmp_path / "plugins", "slow", "import os; os._exit(9)")]
    finished = project.command("undo", plugins=plugins)
    assert (finished.exit_code, "nothing to undo" in finished.stderr) == (3, True)


def test_a_key_is_not_printed(project, install):
    key = "sk-" + "0123456789abcdef"
    finished = project.command("greet", key, plugins=install(), environ={"OPENAI_API_KEY": key})
    assert key not in finished.stdout
    assert "***" in finished.stdout


def test_a_command_starts_processes_without_keys(project, install):
    body = """
    with host.workspace(processes=True) as workspace:
        command = ["sh", "-c", "echo key:$OPENAI_API_KEY"]
        result = workspace.run_command(command, log=host.root / "log.txt", timeout=60)
    host.out.write(result.output.decode())
    return 0
"""
    key = "sk-" + "0123456789abcdef"
    options = {
        "plugins": install(body=body),
        "environ": {"OPENAI_API_KEY": key, "CODE_COMMIT_SANDBOX": "off"},
    }
    assert project.command("greet", "you", **options).stdout == "key:\n"


URL = "https://hook.example/canary-0123456789"
SECRET = """

@hookimpl
def code_commit_secrets():
    return ["HOOK_URL"]

@hookimpl
def code_commit_log_sinks():
    import os
    raise ValueError(os.environ["HOOK_URL"])
"""
TELLS = (
    "import os; "
    "host.out.line(os.environ['HOOK_URL']); "
    "host.out.note(os.environ['HOOK_URL']); "
    "return 0"
)
RAISES = "import os; raise ValueError(os.environ['HOOK_URL'])"
REFUSES = (
    "import os; from code_commit.plugin_api import NotReady; raise NotReady(os.environ['HOOK_URL'])"
)


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize(
    ("body", "arguments"),
    [
        *(
            (body, ("greet", "you", flag))
            for body in (RAISES, TELLS, REFUSES)
            for flag in ("--debug", "--json")
        ),
        (TELLS, ("plugins", "doctor")),
    ],
)
def test_a_secret_of_a_plugin_is_printed_by_no_command(project, install, tmp_path, body, arguments):
    plugins = install(body=body)
    with (tmp_path / "plugins" / "greeter_plugin.py").open("a") as code:
        code.write(SECRET)
    finished = project.command(*arguments, plugins=plugins, environ={"HOOK_URL": URL})
    assert "canary" not in finished.stdout + finished.stderr
    assert "***89" in finished.stdout + finished.stderr


@pytest.mark.slow
def test_an_error_in_a_command_names_its_plugin_and_debug_shows_where(project, install):
    plugins = install(body="raise ValueError('no cake')")
    finished = project.command("greet", "you", plugins=plugins)
    assert (finished.exit_code, "Traceback" in finished.stderr) == (70, False)
    assert "ValueError: no cake, in the command greet of code-commit-greeter" in finished.stderr
    shown = project.command("greet", "you", "--debug", plugins=plugins)
    assert (shown.exit_code, "greeter_plugin.py" in shown.stderr) == (70, True)


def test_an_argument_that_cannot_be_parsed_names_its_plugin(project, tmp_path):
    code = CODE.format(name="greet", module="greeter_plugin", body="return 0")
    code = code.replace('("who")', '("who", type={"me": 1}.__getitem__)')
    finished = project.command(
        "greet", "you", plugins=[install_plugin(tmp_path / "plugins", "greeter", code)]
    )
    assert finished.exit_code == 70
    assert "KeyError: 'you', in the command greet of code-commit-greeter" in finished.stderr


@pytest.mark.parametrize(
    "words", [("greet", "--help"), ("completion", "zsh"), ("completion", "fish")]
)
def test_a_percent_sign_in_a_help_text_breaks_nothing(project, tmp_path, words):
    code = CODE.format(name="greet", module="greeter_plugin", body="return 0")
    code = code.replace(
        '("--json"', '("--loud", help="how loud, 100% or %(less)s, default %(default)s"'
    )
    finished = project.command(
        *words, plugins=[install_plugin(tmp_path / "plugins", "greeter", code)]
    )
    assert (finished.exit_code, finished.stderr) == (0, "")
    assert "how loud, 100" in finished.stdout
    assert ("\n\nGreet somebody.\n\n" in finished.stdout) == ("--help" in words)


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize("code", ["None", "'0'", "300", "-1", "True"])
def test_what_is_no_exit_code_is_an_error_of_the_plugin(project, install, code):
    finished = project.command("greet", "you", plugins=install(body=f"return {code}"))
    assert finished.exit_code == 70
    assert ", in the command greet of code-commit-greeter" in finished.stderr


@pytest.mark.slow
def test_a_command_that_nobody_can_offer_names_the_plugins(project, install, tmp_path):
    for plugin in ("one", "two"):
        plugins = install(plugin, name="go")
    install_plugin(tmp_path / "plugins", "broken", "import nothing_here")
    odd = CODE.format(name="odd", module="odd_plugin", body="return 0").replace(
        '"greet somebody"', "5"
    )
    install_plugin(tmp_path / "plugins", "odd", odd)
    for name, words in {
        "go": "claimed by code-commit-one and code-commit-two",
        "gone": "the plugin broken of code-commit-broken 1.0 failed (import): ModuleNotFoundError",
        "odd": "the plugin odd of code-commit-odd 1.0 failed (command): `help` must be a text",
    }.items():
        finished = project.command(name, plugins=plugins)
        assert (finished.exit_code, words in finished.stderr) == (2, True), finished.stderr
