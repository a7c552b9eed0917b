"""Lines of `code-commit doctor`: a sandbox that is off, a service without an address, a plugin's
wrong checks.
"""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from typing import Any

import pytest

from code_commit_testing import Project, install_plugin

WRONG = """\
from code_commit.plugin_api import Check, CheckDefinition, hookimpl


@hookimpl
def code_commit_checks():
    return [
        "no check",
        *(
            CheckDefinition(name, f"wrong_plugin:{name}")
            for name in ("state", "two", "asked", "number")
        ),
    ]


def state(host, context):
    yield Check("good", "never seen")


def two(host, context):
    yield Check("ok", "first\\nsecond")
    yield Check("skipped", "nothing to see", "look elsewhere")


def asked(host, context):
    yield Check("ok", f"{context.model!r} {context.window} {context.builds}")


def number(host, context):
    yield Check("ok", 5)
"""
EXACT = """\
from types import SimpleNamespace
from pydantic import BaseModel
from code_commit.plugin_api import ProviderDefinition, hookimpl


class Config(BaseModel):
    model: str = "short"
    exact: str | int = "exact-1"


def made(config):
    return SimpleNamespace(model=config.exact, complete=print, close=print)


@hookimpl
def code_commit_providers():
    more = dict(
        config="exact_plugin:Config",
        factory="exact_plugin:made",
        windows={"exact-1": 9, "short": 5},
    )
    return [ProviderDefinition("exact", {"short": ()}, "", None, None, ("a", "{key}"), **more)]
"""
CHECKS = """\
from code_commit.plugin_api import Check, CheckDefinition, NotReady, hookimpl


@hookimpl
def code_commit_checks():
    return [
        CheckDefinition(name, f"own_plugin:{name}")
        for name in ("fine", "broken", "unready", "odd", "after")
    ]


def fine(host, context):
    print("to stdout")
    yield Check("warning", f"asks {context.model}", "look", {"builds": context.builds})


def broken(host, context):
    yield Check("ok", "as far as here")
    raise RuntimeError("what a pity")


def unready(host, context):
    raise NotReady("there is no coffee", hint="make some")


def odd(host, context):
    return [Check("ok", "odd", data={"set": {1}})]


def after(host, context):
    raise NotReady("there is no coffee", hint="make some")
"""


def test_checks_of_a_plugin_that_are_none_are_told(tmp_path):
    project = Project.create(tmp_path / "made")
    project.write({"agent-config/config.toml": "[sandbox]\nmode = 'off'\n"})
    plugins = [install_plugin(tmp_path / "plugins", "wrong", WRONG)]
    install_plugin(plugins[0], "exact", EXACT)
    install_plugin(plugins[0], "own", CHECKS, distribution="acme-own")
    finished = project.command(
        "doctor", "--no-build", "--json", "--model", "short", plugins=plugins
    )
    checks: dict[str, list[tuple[str, str, str]]] = {}
    for line in finished.document["checks"]:
        checks.setdefault(line["name"], []).append((line["state"], line["text"], line["hint"]))
    assert finished.exit_code == 3
    assert checks["sandbox"] == [
        ("warning", "off, by the setting sandbox.mode", "remove the setting")
    ]
    assert checks["address"] == [("ok", "exact has none", "")]
    assert checks["key"] == [("ok", "exact.default needs no key", "")]
    assert checks["model"] == [("ok", "exact-1 of exact (--model)", "")]
    assert checks["asked"] == [("ok", "'exact-1' 9 False", "")]
    assert (
        checks["number"][0][0],
        "`text` must be of type str, not 5" in checks["number"][0][1],
    ) == ("problem", True)
    assert checks["fine"] == [("warning", "asks exact-1", "look")]
    assert checks["broken"][0][:2] == ("ok", "as far as here")
    assert checks["broken"][1][:2] == (
        "problem",
        "the check of acme-own failed: RuntimeError: what a pity",
    )
    assert checks["unready"] == [("problem", "there is no coffee", "make some")]
    assert checks["odd"][0][0] == "problem"
    assert checks["after"] == [("skipped", "not checked, see unready", "")]
    (fine,) = [line for line in finished.document["checks"] if line["name"] == "fine"]
    assert (fine["plugin"], fine["data"]) == ("acme-own", {"builds": False})
    assert "to stdout" in finished.stderr
    assert checks["two"] == [
        ("ok", "first\nsecond", ""),
        ("skipped", "nothing to see", "look elsewhere"),
    ]
    (state,) = checks["state"]
    message = "the state of a Check is ok, warning, problem or skipped, not 'good'"
    assert (state[0], message in state[1]) == ("problem", True)
    failed = [text for kind, text, _ in checks["plugins"] if kind == "warning"]
    assert any("a check must be a CheckDefinition, not 'no check'" in text for text in failed)
    assert finished.document["problems"] == sum(
        kind == "problem" for lines in checks.values() for kind, _, _ in lines
    )
    assert finished.document["warnings"] == sum(
        kind == "warning" for lines in checks.values() for kind, _, _ in lines
    )
    people = project.command("doctor", "--no-build", "--model", "short", plugins=plugins)
    lines = people.stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.split()[:2] == ["ok", "two"])
    column = lines[at].index("first")
    assert lines[at + 1] == " " * column + "second"
    assert lines[at + 3] == " " * column + "hint: look elsewhere"


ASKED = """\
from code_commit_testing.scripted_provider import code_commit_providers
from code_commit.plugin_api import Check, CheckDefinition, ProviderDefinition, hookimpl


@hookimpl
def code_commit_checks():
    return [
        CheckDefinition("asked", "asked_plugin:asked"),
        CheckDefinition("stop", "asked_plugin:stop"),
    ]


def asked(host, context):
    yield Check("ok", f"{context.model!r} {context.window} {context.builds}")
    yield Check("ok", "")


def stop(host, context):
    if "STOP" in host.environ:
        raise KeyboardInterrupt
    return ()
"""


@pytest.fixture
def plugins(tmp_path):
    return [install_plugin(tmp_path / "plugins", "asked", ASKED)]


@pytest.fixture
def doctor(project, plugins):
    """Return a function that runs `doctor --json` in a project; it returns the exit code and the
    lines by check.
    """

    def doctor(
        *words: str, cwd: Any = None, **environ: str
    ) -> tuple[int, dict[str, list[tuple[Any, ...]]]]:
        variables = {"CODE_COMMIT_SANDBOX": "off", "OPENAI_API_KEY": "key-of-openai", **environ}
        finished = project.command(
            "doctor", "--json", *words, plugins=plugins, environ=variables, cwd=cwd or project.root
        )
        lines: dict[str, list[tuple[Any, ...]]] = {}
        for line in finished.document["checks"]:
            lines.setdefault(line["name"], []).append(
                tuple(line[name] for name in ("state", "text", "hint", "data"))
            )
        return finished.exit_code, lines

    return doctor


def test_each_check_has_data_for_programs(doctor, project):
    exit_code, lines = doctor("--no-build", "--model", "gpt-5")
    assert exit_code == 0
    assert lines["git"] == [("ok", f"repository {project.root}", "", {})]
    assert lines["ignore line"] == [("ok", "git ignores /agent-config", "", {})]
    assert lines["settings"] == [
        ("ok", "all settings are valid; `code-commit config` prints them", "", {})
    ]
    assert lines["model"] == [
        ("ok", "gpt-5 of openai (--model)", "", {"model": "gpt-5", "provider": "openai"})
    ]
    url = "https://api.openai.com/v1"
    assert lines["address"] == [("ok", url, "", {"url": url, "own": True})]
    key = {"config": "openai.default", "key": "***ai", "source": "variable OPENAI_API_KEY"}
    assert lines["key"] == [("ok", "***ai from variable OPENAI_API_KEY", "", key)]
    off = ("off, by the setting sandbox.mode", "remove the setting", {"mode": "off", "used": "off"})
    assert lines["sandbox"] == [("warning", *off)]
    names = lines["plugins"][0][1].partition(" loaded: ")
    assert names[0] == str(len(names[2].split(", ")))
    assert "asked" in names[2].split(", ")
    assert lines["asked"][0][1].startswith("'gpt-5' ")
    assert lines["asked"][0][1].endswith("00 False")


@pytest.mark.slow
def test_a_check_knows_the_model_and_whether_to_build(doctor):
    exit_code, lines = doctor("--model", "scripted")
    assert (exit_code, lines["asked"]) == (
        0,
        [("ok", "'scripted' None True", "", {}), ("ok", "", "", {})],
    )
    none = {"config": "scripted.default", "key": None, "source": None}
    assert lines["key"] == [("ok", "scripted.default needs no key", "", none)]
    assert doctor("--no-build", "--model", "no-such")[1]["asked"][0][1] == "'' None False"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "model", "window"), [("", "exact-1", 9), ("exact = 7", "short", 5)]
)
def test_the_model_is_the_one_that_the_provider_asks(
    doctor, tmp_path, table, model, window, project
):
    install_plugin(tmp_path / "plugins", "exact", EXACT)
    project.write({"agent-config/config.toml": f"[providers.exact.default]\n{table}\n"})
    _, lines = doctor("--no-build", "--model", "short")
    assert lines["asked"][0][1] == f"'{model}' {window} False"
    assert lines["model"] == [
        ("ok", f"{model} of exact (--model)", "", {"model": "short", "provider": "exact"})
    ]


def test_an_interrupted_check_ends_the_command(doctor, project, plugins):
    words = ("doctor", "--no-build", "--model", "scripted")
    finished = project.command(*words, plugins=plugins, environ={"STOP": "1"})
    assert (finished.exit_code, finished.stderr) == (130, "error: interrupted\n")


def test_what_is_missing_is_told_with_what_helps(doctor, tmp_path, project):
    init = "run `code-commit init`: it adds the line, and creates the other files that a run needs"
    installed = find_spec("code_commit_commit") is not None
    project.write({".gitignore": ""})
    (line,) = doctor("--no-build")[1]["ignore line"]
    assert (line[0], line[2] == init) == ("problem", installed)
    if installed:
        lines = doctor("--no-build", "--disable-plugin", "commit")[1]
        assert "init" not in lines["ignore line"][0][2]
        hint = 'in a checkout of code-commit, pip install ".[commit]" or uv tool install ".[all]"'
        assert ("warning", "the workflow committing-code is not installed", hint, {}) in lines[
            "plugins"
        ]
    empty = tmp_path / "empty"
    empty.mkdir()
    project.git("init", "-q", str(empty))
    assert doctor("--no-build", cwd=empty)[1]["git"][0][:2] == (
        "ok",
        f"repository {empty}, without a commit",
    )


def test_a_sandbox_that_is_broken_or_missing_is_a_warning_with_its_own_hint(
    doctor, no_sandbox, tmp_path
):
    (line,) = doctor("--no-build", **no_sandbox, CODE_COMMIT_SANDBOX="auto")[1]["sandbox"]
    assert (line[0], *line[2:]) == (
        "warning",
        "see docs/security.md, The sandbox",
        {"mode": "auto", "used": "off"},
    )
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("git", "bash", "sh", "env"):
        (programs / name).symlink_to(shutil.which(name) or os.devnull)
    (line,) = doctor("--no-build", PATH=str(programs), CODE_COMMIT_SANDBOX="auto")[1]["sandbox"]
    assert (line[0], "not installed" in line[1], line[2]) == ("warning", True, "install bubblewrap")


# The sandbox is off, and there may be no default workflow.
WARNINGS = "1 warning" if find_spec("code_commit_commit") else "2 warnings"


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize(
    ("settings", "words", "exit_code", "last"),
    [
        ("sandbox = 'off'\n", ("--model", "scripted"), 0, WARNINGS),
        ("sandbox = 'off'\n", ("--model", "no-such"), 3, f"1 problem and {WARNINGS}"),
        ("sandbox = 'off'\n[plugins.x]\n", ("--model", "no-such"), 3, f"2 problems and {WARNINGS}"),
    ],
)
def test_the_last_line_counts_problems_and_warnings(
    doctor, settings, words, exit_code, last, project, plugins
):
    project.write({"agent-config/config.toml": settings})
    finished = project.command("doctor", "--no-build", *words, plugins=plugins)
    assert (finished.exit_code, finished.stdout.splitlines()[-1]) == (exit_code, last), (
        finished.stdout
    )
    assert ("'' None False" in finished.stdout) == ("no-such" in words)
