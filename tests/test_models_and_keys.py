"""The model, address and key of a run."""

from __future__ import annotations

import pytest

from code_commit_testing import Project, Reply, ScriptedServer, install_plugin

KEY = "sk-canary-0123456789-key7Q"
OTHER = "sk-other-9876543210-keyX9"
GOOD = Reply("^^^a.txt\nnew\n^^^end\n")


@pytest.fixture
def project(tmp_path):
    return Project.create(tmp_path / "made")


@pytest.fixture
def server():
    with ScriptedServer([GOOD] * 9) as server:
        yield server


def configure(project: Project, text: str) -> None:
    project.write({"agent-config/config.toml": text})


def run(project: Project, *arguments: str, environ=None):
    finished = project.command("--dry-run", *arguments, environ=environ)
    assert finished.exit_code == 0, finished.stderr
    return finished


@pytest.mark.fast_rows(4)
@pytest.mark.parametrize(
    ("typed", "model", "path"),
    [
        ("openai/some-new-model", "some-new-model", "/v1/chat/completions"),
        ("gemini-2.5-pro", "gemini-2.5-pro", "/v1beta/models/gemini-2.5-pro:generateContent"),
        ("claude-opus-4-5", "claude-opus-4-5", "/v1/messages"),
        ("opus", "claude-opus-5", "/v1/messages"),
        ("gpt-5", "gpt-5", "/v1/chat/completions"),
        ("sonnet", "claude-sonnet-5", "/v1/messages"),
        ("flash", "gemini-3.8-flash", "/v1beta/models/gemini-3.8-flash:generateContent"),
    ],
)
def test_a_model_is_an_id_an_alias_or_any_id_of_a_provider(project, server, typed, model, path):
    keys = {"GEMINI_API_KEY": KEY, "OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
    run(project, "--model", typed, environ={**server.environment(), **keys})
    request = server.requests[0]
    assert (
        request.model,
        request.path.partition("?")[0].removeprefix("/openai")[-len(path) :],
    ) == (model, path)


def test_a_model_of_another_plugin_does_not_take_a_name_away(project, server, tmp_path):
    code = """
from code_commit.plugin_api import ProviderDefinition, hookimpl

@hookimpl
def code_commit_providers():
    code = "code_commit_testing.loopback_provider"
    return [ProviderDefinition(
        name="third", models={"gpt-5": ("gpt",)}, base_url="https://third.example.org",
        base_url_variable="THIRD_BASE_URL", key_variable=None, key_header=("x-key", "{key}"),
        config=f"{code}:LoopbackConfig", factory=f"{code}:wire_of",
    )]
"""
    plugins = [install_plugin(tmp_path / "plugins", "third", code)]
    environ = {**server.environment(), "OPENAI_API_KEY": KEY, "THIRD_BASE_URL": server.address}
    for model in ("gpt-5", "third/gpt-5"):
        finished = project.command("--dry-run", "--model", model, environ=environ, plugins=plugins)
        assert finished.exit_code == 0, finished.stderr
        assert "failed" not in finished.stderr
    paths = [request.path for request in server.requests]
    assert paths == ["/v1/chat/completions", "/chat/completions"]


def test_without_the_provider_of_the_default_model_the_keys_decide(project, server):
    without = ("--disable-plugin", "gemini")
    environ = {**server.environment(), "OPENAI_API_KEY": KEY}
    finished = run(project, *without, environ=environ)
    assert [request.model for request in server.requests] == ["gpt-5"]
    note = (
        "the provider of the default model gemini-2.5-pro is not installed: using gpt-5 of openai"
    )
    assert finished.stderr.count(note) == 1
    shown = project.command(*without, "config", "--json", environ=environ).document
    [row] = [row for row in shown["settings"] if row["name"] == "model"]
    assert (row["value"], row["origin"]) == ("gpt-5", "the first model of openai")
    assert shown["key"]["config"] == "openai.default"
    finished = project.command("--dry-run", *without)
    assert finished.exit_code == 3
    assert "no key for anthropic.default" in finished.stderr


def test_the_model_of_a_workflows_setting_is_checked_before_the_run(project, server, tmp_path):
    code = """
from pydantic import BaseModel
from code_commit.plugin_api import (
    Flag, Message, Outcome, Request, Result, Text, WorkflowDefinition, hookimpl,
)

class Options(BaseModel):
    writer: str | None = None

def run(run):
    request = Request((Message("user", (Text("hi"),)),))
    text = run.model(name=run.options.writer).complete(request, label="ask").text
    return Result(Outcome.REACHED, text)

@hookimpl
def code_commit_settings():
    return f"{__name__}:Options"

@hookimpl
def code_commit_workflows():
    flag = Flag(("--wri",), "write", selects=True)
    return [WorkflowDefinition("wri", "write", (flag,), f"{__name__}:run",
        options=f"{__name__}:Options", models="writer", writes=False)]
"""
    plugins = [install_plugin(tmp_path / "plugins", "wri", code)]
    project.write({"agent-config/config.toml": '[plugins.wri]\nwriter = "gpt-5"\n'})
    finished = project.command("--wri", plugins=plugins)
    assert finished.exit_code == 3
    assert "no key for openai.default" in finished.stderr
    assert not (project.root / "logs").exists()
    environ = {**server.environment(), "OPENAI_API_KEY": KEY}
    finished = project.command("--wri", environ=environ, plugins=plugins)
    assert finished.exit_code == 0, finished.stderr
    assert [request.model for request in server.requests] == ["gpt-5"]


def test_the_default_model_is_gemini(project, server):
    run(project, environ={**server.environment(), "GEMINI_API_KEY": KEY})
    assert server.requests[0].model == "gemini-2.5-pro"


def test_a_named_config_has_its_own_model_address_limit_and_key(project, server):
    configure(
        project,
        f"""
        [providers]
        default_provider = "openai.local"
        [providers.openai.local]
        model = "llama"
        base_url = "{server.url("openai")}"
        api_key = "{OTHER}"
        max_tokens = 1234
        """,
    )
    finished = run(project, "--json", environ={"OPENAI_API_KEY": KEY})
    request = server.requests[0]
    assert request.model == "llama"
    assert request.headers["authorization"] == f"Bearer {OTHER}"
    assert 1234 in request.json.values()
    started = next(event["data"] for event in finished.events if event["kind"] == "call.started")
    assert started["address"] == server.url("openai")
    assert "api_key" in started["key_source"]
    assert OTHER not in finished.stdout


def test_a_named_config_without_a_key_never_gets_the_default_key(project, server):
    configure(
        project,
        f'[providers.openai.local]\nmodel = "llama"\nbase_url = "{server.url("openai")}"\n',
    )
    project.write({"agent-config/openai-key.txt": KEY})
    run(project, "--model", "openai.local", environ={"OPENAI_API_KEY": KEY})
    assert "authorization" not in server.requests[0].headers


def test_the_flag_overrides_the_default_provider_which_overrides_the_setting(project, server):
    keys = {"GEMINI_API_KEY": KEY, "OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
    environ = {**server.environment(), **keys}
    configure(project, 'model = "gpt-5"\n')
    run(project, environ=environ)
    configure(project, 'model = "gpt-5"\n[providers]\ndefault_provider = "anthropic.default"\n')
    run(project, environ=environ)
    run(project, "--model", "gemini", environ=environ)
    assert [request.model for request in server.requests] == [
        "gpt-5",
        "claude-sonnet-5",
        "gemini-2.5-pro",
    ]


def test_the_key_file_comes_before_the_variable(project, server):
    project.write({"agent-config/openai-key.txt": OTHER + "\n"})
    run(project, "--model", "gpt-5", environ={**server.environment(), "OPENAI_API_KEY": KEY})
    assert server.requests[0].headers["authorization"] == f"Bearer {OTHER}"


@pytest.mark.parametrize(
    ("name", "words"),
    [("nobody.default", "there is no provider 'nobody'"), ("openai.nothing", "[providers.")],
)
def test_an_unknown_default_provider_is_explained(project, name, words):
    configure(project, f'[providers]\ndefault_provider = "{name}"\n')
    finished = project.command()
    assert (finished.exit_code, words in finished.stderr) == (3, True)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (
            '[providers]\nplaner = "openai.default"',
            "there is no role 'planer'; did you mean planner?",
        ),
        ("[providers.opnai.local]", "there is no provider 'opnai'; did you mean openai?"),
        ("[plugins.planer]", "there is no plugin 'planer'; did you mean planner?"),
        (
            '[providers.openrouter.default]\n[plugins.mine]\n[providers]\njudge = "openrouter.default"',
            "",
        ),
    ],
    ids=["role", "provider", "plugin", "of another environment"],
)
def test_the_users_own_file_may_name_what_is_not_installed_but_misspell_nothing(
    project, server, table, words
):
    file = project.home / ".config/code-commit/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(table)
    finished = project.command(
        "--dry-run", "--model", "gpt-5", environ={**server.environment(), "OPENAI_API_KEY": KEY}
    )
    assert (finished.exit_code, words in finished.stderr) == (3 if words else 0, True), (
        finished.stderr
    )


@pytest.mark.parametrize(
    ("name", "meant"), [("baseurl", "base_url"), ("api_kye", "api_key"), ("modl", "model")]
)
def test_a_misspelled_setting_of_a_named_config_is_explained_without_its_value(
    project, name, meant
):
    configure(project, f'[providers.openai.default]\n{name} = "{OTHER}"\n')
    finished = project.command("--model", "gpt-5")
    where = "agent-config/config.toml: [providers.openai.default]: "
    assert (finished.exit_code, OTHER in finished.stderr) == (3, False)
    assert f"{where}there is no setting {name}; did you mean {meant}?" in finished.stderr


def test_config_prints_values_and_origins_and_no_key(project):
    configure(
        project,
        f'[build]\ntimeout_seconds = 5\n[providers.openai.local]\nmodel = "m"\napi_key = "{KEY}"\n',
    )
    rows = project.command("config", "--json", environ={"CODE_COMMIT_MODEL": "gpt-5"}).document[
        "settings"
    ]
    shown = {row["name"]: (row["value"], row["origin"]) for row in rows}
    assert shown["build.timeout_seconds"] == (5, "agent-config/config.toml")
    assert shown["model"] == ("gpt-5", "variable CODE_COMMIT_MODEL")
    assert shown["sandbox.mode"] == ("auto", "default")
    text = project.command("config").stdout
    assert KEY not in text
    assert "build.timeout_seconds" in text


def test_config_prints_no_secret_of_an_address(project):
    address = f"https://user:{OTHER}@host/v1?key={OTHER}#{OTHER}"
    configure(project, f'[providers.openai.local]\nmodel = "m"\nbase_url = "{address}"\n')
    for finished in (project.command("config"), project.command("config", "--json")):
        assert "https://***@host/v1?***" in finished.stdout
        assert OTHER not in finished.stdout


def test_a_live_key_in_the_query_or_the_rollup_is_not_sent(project, server):
    project.write(
        {"agent-config/query.txt": f"use {KEY}\n", "agent-config/codeRollup.txt": f"x = '{KEY}'\n"}
    )
    run(project, "--model", "gpt-5", environ={**server.environment(), "OPENAI_API_KEY": KEY})
    assert KEY.encode() not in server.requests[0].body
    assert "use ***7Q" in server.requests[0].prompt


def test_a_build_gets_no_key(project, server):
    project.write(
        {"build.sh": "env; cat agent-config/* 2>&1; exit 0\n", "agent-config/openai-key.txt": KEY}
    )
    project.git("commit", "-qam", "a curious build")
    environ = {**server.environment(), "ANTHROPIC_API_KEY": OTHER, "SOME_COPY": f"x{KEY}"}
    finished = project.command("--model", "gpt-5", "--json", environ=environ)
    assert finished.exit_code == 0
    written = b"".join(path.read_bytes() for path in project.run_folder.iterdir())
    for key in (KEY, OTHER):
        assert key.encode() not in written
        assert key not in finished.stdout + finished.stderr
    assert "SOME_COPY" not in (project.run_folder / "1-build.txt").read_text()


@pytest.mark.parametrize("line", [f'"{KEY}"', f"'{KEY}'", f"export GEMINI_API_KEY={KEY}"])
def test_a_key_in_quotes_ends_the_run_before_a_call(project, server, line):
    project.write({"agent-config/gemini-key.txt": f"{line}\n"})
    for arguments in (("--dry-run",), ("doctor", "--no-build")):
        finished = project.command(*arguments, environ=server.environment())
        said = finished.stdout + finished.stderr
        assert finished.exit_code == 3, said
        assert "the key in agent-config/gemini-key.txt has " in said
        assert "write the key alone" in said
        assert KEY[3:] not in said
    assert server.requests == []
    assert not (project.root / "logs").exists()
