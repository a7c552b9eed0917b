"""`code-commit doctor`, and the key in `code-commit config`."""

from __future__ import annotations

import re
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from code_commit_testing import Finished, Project, ScriptedServer, install_plugin

KEY = "sk-canary-0123456789-key7Q"
MODEL = {"CODE_COMMIT_MODEL": "gpt-5"}
ENVIRON = {"OPENAI_API_KEY": KEY, **MODEL}
HOST_CHECKS = [
    "git",
    "ignore line",
    "settings",
    "model",
    "address",
    "key",
    "sandbox",
    "plugins",
    "replies",
    "disk",
]


@pytest.fixture
def project(tmp_path):
    return Project.create(tmp_path / "made")


def lines_of(finished: Finished) -> dict[str, list[tuple[str, str]]]:
    """Return state and text of each line of `doctor --json`, by the name of the check."""
    lines: dict[str, list[tuple[str, str]]] = {}
    for line in finished.document["checks"]:
        lines.setdefault(line["name"], []).append((line["state"], line["text"]))
    return lines


def examined(project: Project, *arguments: str, **options: Any) -> dict[str, list[tuple[str, str]]]:
    return lines_of(project.command("doctor", "--no-build", "--json", *arguments, **options))


def test_a_ready_project_has_no_problem_and_no_service_is_called(project) -> None:
    with ScriptedServer() as server:
        finished = project.command("doctor", "--json", environ={**ENVIRON, **server.environment()})
        assert server.requests == []
        lines = lines_of(finished)
        assert lines["address"] == [("ok", f"{server.url('openai')}, not openai's own")]
    assert (finished.exit_code, finished.document["problems"]) == (0, 0)
    assert list(lines)[:10] == HOST_CHECKS
    for word in (
        "end_turn",
        "max_tokens",
        "every reason that is not listed",
        "content_filter",
        "refusal",
    ):
        assert word in lines["replies"][0][1]
    assert lines["model"] == [("ok", "gpt-5 of openai (model, variable CODE_COMMIT_MODEL)")]
    assert lines["key"] == [("ok", "***7Q from variable OPENAI_API_KEY")]
    assert lines["build.sh"][0][0] == "ok"
    (sandbox,) = [line["data"] for line in finished.document["checks"] if line["name"] == "sandbox"]
    assert (sandbox["mode"], sandbox["used"] in {"bubblewrap", "off"}) == ("auto", True)
    assert KEY not in finished.stdout + finished.stderr


@pytest.mark.slow
def test_people_read_one_line_each(project) -> None:
    finished = project.command("doctor", "--no-build", "--model", "gpt-5")
    assert finished.exit_code == 3
    lines = finished.stdout.splitlines()
    assert lines[0] == f"ok       git          repository {project.root}"
    assert "problem  key          no key for openai.default at https://api.openai.com/v1" in lines
    assert any(line.startswith(" " * 22 + "hint: write it to ") for line in lines)
    assert lines[-1] == "1 problem"


def test_an_empty_folder_has_problems_with_hints(tmp_path) -> None:
    project = Project(tmp_path / "empty", tmp_path / "home")
    project.root.mkdir()
    project.home.mkdir()
    finished = project.command("doctor", "--json", environ=MODEL)
    lines = lines_of(finished)
    assert finished.exit_code == 3
    assert [lines[name][0][0] for name in HOST_CHECKS[:6]] == [
        "problem",
        "problem",
        "ok",
        "ok",
        "ok",
        "skipped",
    ]
    assert lines["key"] == [("skipped", "not checked, see ignore line")]
    assert lines["rollup"] == [("skipped", "not checked, see git")]
    assert all(line["hint"] for line in finished.document["checks"] if line["state"] == "problem")
    assert list(project.root.iterdir()) == []
    broken = examined(project, environ={"CODE_COMMIT_SANDBOX": "x"})
    assert broken["settings"][0][0] == "problem"
    assert broken["sandbox"][0][0] in {"ok", "warning"}


@pytest.mark.slow
def test_broken_settings_do_not_stop_what_does_not_need_them(project) -> None:
    project.write({"agent-config/config.toml": "model = ["})
    lines = examined(project, environ=ENVIRON)
    assert lines["settings"][0][0] == "problem"
    assert lines["settings"][0][1].startswith("agent-config/config.toml, line ")
    assert [lines[name] for name in ("model", "key", "address")] == [
        [("skipped", "not checked, see settings")]
    ] * 3
    assert lines["git"][0][0] == "ok"
    assert lines["sandbox"][0][1].startswith(("bubblewrap works", "no sandbox: "))


def test_a_setting_of_a_plugin_is_checked(project) -> None:
    project.write({"agent-config/config.toml": "[plugins.commit]\nrepairs = -1\n"})
    ((state, text),) = examined(project, environ=ENVIRON)["settings"]
    assert (state, "[plugins.commit]" in text, "repairs" in text) == ("problem", True, True)
    project.write({"agent-config/config.toml": "[plugins.code-commit]\n"})
    message = "there is no plugin 'code-commit'; did you mean commit?"
    assert message in examined(project, environ=ENVIRON)["settings"][0][1]


@pytest.mark.slow
def test_an_unknown_model_is_a_problem(project) -> None:
    lines = examined(project, "--model", "no-such-model", environ=ENVIRON)
    assert lines["model"] == [("problem", "there is no model 'no-such-model'")]
    assert lines["key"] == lines["address"] == [("skipped", "not checked, see model")]


def test_without_a_chosen_model_the_only_provider_is_asked(project) -> None:
    """The default model is Gemini's."""
    installed = (name for name in ("gemini", "anthropic") if find_spec(f"code_commit_{name}"))
    words = (*(f"--disable-plugin={name}" for name in installed), "doctor", "--no-build", "--json")
    lines = lines_of(project.command(*words, environ={"OPENAI_API_KEY": KEY}))
    assert lines["model"] == [("ok", "gpt-5 of openai (the first model of openai)")]
    lines = lines_of(project.command(*words, environ={"CODE_COMMIT_MODEL": "gemini-2.5-pro"}))
    assert lines["model"][0][0] == "problem"


def test_a_missing_git_is_a_problem(project, tmp_path) -> None:
    finished = project.command(
        "doctor", "--no-build", "--json", environ={"PATH": str(tmp_path), **ENVIRON}
    )
    assert finished.exit_code == 3
    assert lines_of(finished)["git"] == [("problem", "git was not found on PATH")]


@pytest.mark.slow
def test_a_git_that_builds_could_replace_is_no_missing_git(project) -> None:
    config = project.home / ".config/code-commit/config.toml"
    config.parent.mkdir(parents=True)
    tools = Path(shutil.which("git")).parent.parent
    config.write_text(f'sandbox.writable = ["{tools}"]\n')
    (text,) = (
        text for state, text in examined(project, environ=ENVIRON)["sandbox"] if state == "problem"
    )
    assert re.fullmatch(r"sandbox\.writable: \S+ holds \S+git, which a build could replace", text)


def test_a_broken_sandbox_is_a_warning_unless_it_is_required(project, no_sandbox) -> None:
    environ = {**ENVIRON, **no_sandbox}
    ((state, text),) = examined(project, environ=environ)["sandbox"]
    assert (state, text[:12]) == ("warning", "no sandbox: ")
    project.write({"agent-config/config.toml": 'sandbox = "require"\n'})
    assert examined(project, environ=environ)["sandbox"][0][0] == "problem"


def test_a_failed_plugin_is_a_warning_and_a_failed_path_rule_a_problem(project, tmp_path) -> None:
    folder = install_plugin(tmp_path / "plugins", "own", "raise ValueError('no good')")
    project.write({"agent-config/config.toml": "[plugins.own]\na = 1\n"})  # it may be right
    lines = examined(project, environ=ENVIRON, plugins=[folder])
    plugin_lines = lines["plugins"]
    assert [state for state, _ in lines["settings"]] == ["ok"]
    assert [state for state, _ in plugin_lines] == ["ok", "warning"]
    assert "own of code-commit-own failed (import): ValueError: no good" in plugin_lines[1][1]
    install_plugin(folder, "rule", "raise ValueError('no rule')", group="code_commit.path_rules")
    plugin_lines = examined(project, environ=ENVIRON, plugins=[folder])["plugins"]
    assert sorted(state for state, _ in plugin_lines) == ["ok", "problem", "warning"]


def test_doctor_works_without_plugins(project) -> None:
    names = [plugin["name"] for plugin in project.command("plugins", "--json").document["plugins"]]
    leave_out = [word for name in names for word in ("--disable-plugin", name)]
    project.write({"agent-config/config.toml": f"[plugins.{names[0]}]\na = 1\n"})
    finished = project.command("doctor", "--json", *leave_out)
    lines = lines_of(finished)
    assert (finished.exit_code, list(lines)) == (3, HOST_CHECKS)
    assert (lines["plugins"][0], lines["settings"][0][0]) == (("ok", "none is installed"), "ok")


# --- config ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_config_names_the_source_of_the_key(project) -> None:
    project.write({"agent-config/openai-key.txt": f"{KEY}\n"})
    finished = project.command("config", "--json", environ=MODEL)
    source = "agent-config/openai-key.txt"
    assert finished.document["key"] == {
        "config": "openai.default",
        "key": "***7Q",
        "source": source,
        "problem": None,
    }
    assert KEY not in finished.stdout
    last = project.command("config", environ=MODEL).stdout.splitlines()[-1].split()
    assert last == ["key", "of", "openai.default", '"***7Q"', "agent-config/openai-key.txt"]


@pytest.mark.slow
def test_config_says_why_there_is_no_key(project) -> None:
    key = project.command("config", "--json", environ=MODEL).document["key"]
    assert (key["key"], key["problem"]) == (
        None,
        "no key for openai.default at https://api.openai.com/v1",
    )
    assert project.command("config", environ=MODEL).exit_code == 0


@pytest.mark.slow
def test_a_wrong_address_is_named_once(project) -> None:
    lines = examined(project, environ={**MODEL, "OPENAI_BASE_URL": "ftp://host"})
    assert lines["address"] == [
        ("problem", "the address in variable OPENAI_BASE_URL is not an http or https URL")
    ]
    assert lines["key"] == [("skipped", "not checked, see address")]
