"""The settings of a plugin: its section of the configuration, and how `config` shows it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator

from code_commit.config.loading import Settings, load_settings
from code_commit.config.schema import validated
from code_commit.plugin_api.errors import NotReady
from code_commit.plugins.discovery import PluginSource
from code_commit.plugins.host import PluginHost
from code_commit.plugins.registry import Registry
from code_commit_testing import install_plugin

KEY = "sk-live-0123456789abcXY"


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that loads the settings of a project with these files, variables and
    flags.
    """
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))

    def load(text: str, *, user: str = "", environ=None, flags=None) -> Settings:
        for folder, content in (("project/agent-config", text), ("user/code-commit", user)):
            (tmp_path / folder).mkdir(parents=True)
            (tmp_path / folder / "config.toml").write_text(content)
        return load_settings(tmp_path / "project", flags=flags or {}, environ=environ or {})

    return load


class Thresholds(BaseModel):
    low: float = 0.1
    high: float = 0.9


class Scale(BaseModel):
    small: float = 1


class Section(BaseModel):
    scales: list[Scale] = []
    shrink_below: float = Field(default=0.5, gt=0)
    names: list[str] = []
    thresholds: Thresholds = Thresholds()

    @field_validator("names")
    @classmethod
    def short(cls, names: list[str]) -> list[str]:
        if len(names) > 2:
            raise ValueError("there should be two names at most")
        return names


class Anything(BaseModel):
    model_config = ConfigDict(extra="allow")


def test_a_plugins_section_is_merged_and_becomes_its_model(load) -> None:
    user = "[plugins.truncation]\nshrink_below = 0.2\nthresholds.low = 0.3"
    environ = {"CODE_COMMIT_PLUGINS__TRUNCATION__NAMES": '["a", "b"]'}
    flags = {"plugins.truncation.shrink_below": 1}
    settings = load(
        "[plugins.truncation]\nthresholds.high = 0.7", user=user, environ=environ, flags=flags
    )
    section = settings.plugin("truncation", Section)
    assert section == Section(
        shrink_below=1, names=["a", "b"], thresholds=Thresholds(low=0.3, high=0.7)
    )


def test_a_plugin_without_settings_takes_none(load) -> None:
    settings = load("[plugins.empty]\n[plugins.full]\na = 1")
    assert settings.plugin("empty", None) is settings.plugin("absent", None) is None
    with pytest.raises(
        NotReady, match=r"^agent-config/config\.toml: the plugin full has no settings$"
    ):
        settings.plugin("full", None)


@pytest.mark.parametrize("plugin", ["PLUGINS_COMMIT_", "PLUGINS__COMMIT_", "PLUGINS_COMMIT__"])
def test_a_missing_underscore_is_named(load, plugin: str) -> None:
    with pytest.raises(NotReady) as caught:
        load("", environ={f"CODE_COMMIT_{plugin}REPAIR_CONTEXT": "1"})
    assert caught.value.hint.endswith(": CODE_COMMIT_PLUGINS__COMMIT__REPAIR_CONTEXT")


class Private(BaseModel):
    folder: str = Field(default="", json_schema_extra={"user_file_only": True})
    shown: str = Field(default="", json_schema_extra={"user_file_only": False})


def test_a_setting_of_a_plugin_may_be_for_the_users_file_alone(load, tmp_path) -> None:
    settings = load(
        '[plugins.own]\nshown = "a"\n[plugins.bad]\nfolder = "a"',
        user='[plugins.own]\nfolder = "b"',
    )
    assert settings.plugin("own", Private) == Private(folder="b", shown="a")
    with pytest.raises(
        NotReady, match=r"^agent-config/config\.toml: plugins\.bad\.folder only works in your own"
    ) as caught:
        settings.plugin("bad", Private)
    assert caught.value.hint == f"move it to {tmp_path}/user/code-commit/config.toml"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("shrink_bellow = 1", "there is no setting shrink_bellow; did you mean shrink_below?"),
        (
            "thresholds.hihg = 1",
            "there is no setting thresholds.hihg; did you mean thresholds.high?",
        ),
        ('shrink_below = "much"', "shrink_below should be a valid number"),
        ('names = ["a", "b", "c"]', "names: there should be two names at most"),
        ("scales = [{ smal = 1 }]", "there is no setting scales.0.smal"),
    ],
)
def test_a_mistake_in_a_plugins_section_names_place_and_section(load, text: str, said: str) -> None:
    settings = load(f"[plugins.truncation]\n{text}")
    with pytest.raises(NotReady) as caught:
        settings.plugin("truncation", Section)
    start = "agent-config/config.toml: [plugins.truncation]: "
    assert str(caught.value).startswith(start)
    assert said in str(caught.value)


def test_validated_stands_alone_and_shows_no_value() -> None:
    with pytest.raises(NotReady) as caught:
        validated(Section, {"shrink_below": KEY}, "[providers.openai.player]", lambda _: "")
    assert str(caught.value).startswith(
        "[providers.openai.player]: shrink_below should be a valid number"
    )
    assert KEY not in repr(caught.value)
    assert validated(Anything, {"free": 1}, "x", lambda _: "").model_dump() == {"free": 1}


SETTINGS = """
from pathlib import Path
from pydantic import BaseModel, Field
from code_commit.plugin_api import hookimpl

class Deep(BaseModel):
    steps: int = Field(3, description="How many.")

class Section(BaseModel):
    deep: Deep = Deep()
    token: str = "sk-secret-0123456789"
    words: list[str] = []
    folder: Path = Path("here")

@hookimpl
def code_commit_settings():
    return "many_plugin:Section"
"""

IDLE = """
from code_commit.plugin_api import Flag, Outcome, Result, WorkflowDefinition, hookimpl

@hookimpl
def code_commit_workflows():
    flags = (Flag(("--idle",), "idle", selects=True),)
    return [WorkflowDefinition("idle", "idle", flags, "idle_plugin:run", writes=False, roles=None)]

def run(run):
    return Result(Outcome.REACHED, "idle")
"""


def test_config_shows_the_settings_of_plugins_or_what_is_written(project, tmp_path):
    plugins = [install_plugin(tmp_path / "many", "many", SETTINGS)]
    install_plugin(tmp_path / "many", "wrong", SETTINGS.replace("many_plugin", "wrong_plugin"))
    project.write(
        {"agent-config/config.toml": '[plugins.many]\nwords = ["a"]\n[plugins.wrong]\nwords = 1\n'}
    )
    rows = project.command("config", "--json", plugins=plugins).document["settings"]
    of_plugins = {
        row["name"]: (row["value"], row["origin"])
        for row in rows
        if row["name"].startswith("plugins.")
    }
    assert {
        name: row for name, row in of_plugins.items() if ".many." in name or ".wrong." in name
    } == {
        "plugins.many.deep.steps": (3, "default"),
        "plugins.many.folder": ("here", "default"),
        "plugins.many.token": ("***89", "default"),
        "plugins.many.words": (["a"], "agent-config/config.toml"),
        "plugins.wrong.words": (1, "agent-config/config.toml"),
    }
    assert [row["description"] for row in rows if row["name"] == "plugins.many.deep.steps"] == [
        "How many."
    ]


def test_broken_settings_of_the_workflow_stop_the_run(project, tmp_path):
    section = '\n@hookimpl\ndef code_commit_settings():\n    return "nowhere:Section"\n'
    finished = project.command(
        "--idle", plugins=[install_plugin(tmp_path / "many", "idle", IDLE + section)]
    )
    assert finished.exit_code == 3
    assert "the settings of code-commit-idle are broken: " in finished.stderr
    assert "nowhere" in finished.stderr


@pytest.mark.parametrize(
    ("name", "distribution", "disabled", "known"),
    [
        ("broken", "stranger", (), False),  # which may offer any provider
        ("stranger", "stranger", ("stranger",), False),
        ("openai", "code-commit-openai", (), True),
        ("openai", "code-commit-openai", ("openai",), True),
        ("openai", "code-commit-openai", ("code-commit-openai",), True),
    ],
)
def test_an_unknown_provider_may_be_configured_if_a_plugin_failed(
    name, distribution, disabled, known
):
    source = PluginSource(name, distribution, "1", "code_commit", "nowhere_to_be_found")
    providers = Registry(PluginHost([source], disabled=disabled)).known_providers()
    assert (providers is not None and "openai" in providers) == known
