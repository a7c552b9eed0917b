"""The models that services listed: which are kept, where, and how `code-commit models` shows
them.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from code_commit.models.listed_models import (
    listed_models,
    store_listed_models,
    usable_models,
    window_of,
)
from code_commit.plugin_api.definitions import ProviderDefinition
from code_commit.plugin_api.errors import NotReady
from code_commit_testing import install_plugin

PROVIDER = ProviderDefinition(
    "acme", {"one": ()}, "", None, None, ("a", "{key}"), "x:y", "x:y", windows={"one": 7}
)
PLUGIN = """
from code_commit.plugin_api import ProviderDefinition, hookimpl


@hookimpl
def code_commit_providers():
    more = {"key_header": ("a", "{key}"), "config": "x:y", "factory": "x:y"}
    return [
        ProviderDefinition(
            "beta", {"b-2": ("b", "beta"), "b-1": ()}, "", None, None, windows={"b-2": 20}, **more
        ),
        ProviderDefinition("alpha", {"a-1": ()}, "", None, None, free=True, **more),
    ]
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Return the file of the listed models."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/code-commit/models.json"


@pytest.mark.parametrize(
    ("models", "usable"),
    [
        ({"a": 1, "b": 10**9 - 1}, {"a": 1, "b": 10**9 - 1}),
        (
            {"a": 0, "b": -1, "c": 10**9, "d": True, "e": 1.5, "f": None, "g": "9"},
            dict.fromkeys("abcdefg", 0),
        ),
        (
            {"!": 1, "~": 1, "a/b:c-1.5_x": 1, "x" * 200: 1},
            {"!": 1, "~": 1, "a/b:c-1.5_x": 1, "x" * 200: 1},
        ),
        ({"": 1, "x" * 201: 1, "a b": 1, "a\n": 1, "\x7f": 1, "é": 1, 7: 1, None: 1}, {}),
        (["a"], {}),
        ("a", {}),
        (None, {}),
    ],
)
def test_a_listed_model_has_a_plain_name_and_a_possible_window(models, usable):
    assert usable_models(models) == usable


def test_the_first_ten_thousand_models_are_kept():
    many = usable_models({str(number): 1 for number in range(10_002)})
    assert (len(many), "9999" in many, "10000" in many) == (10_000, True, False)


def test_what_is_stored_is_listed(file):
    assert listed_models() == {}
    store_listed_models({"acme": {"one": 0, "two": 9}, "none": {}})
    assert listed_models() == {"acme": {"one": 0, "two": 9}, "none": {}}
    store_listed_models({"acme": {"three": 1}})
    assert listed_models() == {"acme": {"three": 1}}
    assert [path.name for path in file.parent.iterdir()] == ["models.json"]


@pytest.mark.parametrize(
    ("content", "listed"),
    [
        (b"", {}),
        (b"[]", {}),
        (b"3", {}),
        (b"{", {}),
        (b"\xff", {}),
        (b"[" * 100_000, {}),
        (b'{"acme": 3}', {"acme": {}}),
        (b'{"acme": {"one": "x", "a b": 1}}', {"acme": {"one": 0}}),
        (b"{}" + b" " * (4 * 1024 * 1024), {}),
        (b'{"acme": {}}'.ljust(4 * 1024 * 1024), {"acme": {}}),
        (b'{"acme": {}}'.ljust(4 * 1024 * 1024 + 1), {}),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_a_broken_file_lists_none(file, content, listed):
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    assert listed_models() == listed


def test_a_file_that_cannot_be_written_is_named(file):
    file.parent.parent.write_text("a file in its way")
    with pytest.raises(NotReady, match=f"^{file} cannot be written: Not a directory$"):
        store_listed_models({})


def test_the_window_is_the_plugins_else_the_services(file):
    store_listed_models({"acme": {"one": 5, "two": 9, "three": 0}, "other": {"four": 4}})
    windows = {model: window_of(PROVIDER, model) for model in ("one", "two", "three", "four")}
    assert windows == {"one": 7, "two": 9, "three": None, "four": None}
    assert window_of(replace(PROVIDER, windows={}), "one") == 5


@pytest.mark.slow
def test_the_models_of_plugins_stand_before_those_of_services(project, tmp_path):
    plugins = [install_plugin(tmp_path / "plugins", "greek", PLUGIN, distribution="greek-dist")]
    listed = {"alpha": {"a-9": 90, "a-1": 10}, "beta": {"b-2": 99}, "gone": {"g": 1}}
    (project.home / ".cache/code-commit").mkdir(parents=True)
    (project.home / ".cache/code-commit/models.json").write_text(json.dumps(listed))
    rows = project.command("models", "--json", plugins=plugins).document["models"]
    assert [list(row.values()) for row in rows if row["distribution"] == "greek-dist"] == [
        ["a-1", "alpha", [], 10, "greek-dist"],
        ["a-9", "alpha", [], 90, "greek-dist"],
        ["b-2", "beta", ["b", "beta"], 20, "greek-dist"],
        ["b-1", "beta", [], None, "greek-dist"],
    ]
    assert list(rows[0]) == ["model", "provider", "aliases", "window", "distribution"]
    assert [row["provider"] for row in rows] == sorted(row["provider"] for row in rows)
    lines = [
        line.split(maxsplit=2)
        for line in project.command("models", plugins=plugins).stdout.splitlines()
    ]
    assert [line for line in lines if line[1] in {"alpha", "beta"}] == [
        ["a-1", "alpha"],
        ["a-9", "alpha"],
        ["b-2", "beta", "b, beta"],
        ["b-1", "beta"],
        ["beta/ANY-ID", "beta", "any other model of this provider"],
    ]
    assert not any(line[0].startswith("alpha/") for line in lines)


def test_without_a_provider_every_plugin_that_has_models_is_offered(project):
    rows = project.command("models", "--json").document["models"]
    disabled = [f"--disable-plugin={name}" for name in {row["distribution"] for row in rows}]
    lines = project.command("models", *disabled).stdout.splitlines()
    assert lines[0] == "no provider is installed. Install one:"
    offered = [
        line for line in lines if line.startswith("  in a checkout of code-commit, pip install ")
    ]
    assert lines[1:] == offered
    assert [
        name
        for name in ("anthropic", "gemini", "openai", "commit")
        if f'".[{name}]"' in "".join(offered)
    ] == [
        "anthropic",
        "gemini",
        "openai",
    ]
