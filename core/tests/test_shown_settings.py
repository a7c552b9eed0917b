"""Settings are shown without their secrets, which the words of names and the form of addresses
tell.
"""

from __future__ import annotations

import json
from typing import Any

from code_commit_testing import Project


def shown(project: Project, **values: Any) -> dict[str, Any]:
    """Return what `config` shows of the settings of a plugin."""
    lines = [f"{name} = {json.dumps(value)}\n" for name, value in values.items()]
    lines += 'rows = [{token = "12345678", id = "12345678"}]\n'
    project.write({"agent-config/config.toml": "[plugins.x]\n" + "".join(lines)})
    rows = project.command("config", "--json").document["settings"]
    return {row["name"].removeprefix("plugins.x."): row["value"] for row in rows}


def test_a_secret_is_known_by_a_word_of_its_name(project):
    words = ("key", "keys", "apikey", "token", "secret", "password", "authorization", "headers")
    hidden = dict.fromkeys((f"My_{word.upper()}" for word in words), "abcdefgh")
    plain = {
        name: "abcdefgh" for word in words for name in (f"x{word}", f"{word}_file", f"{word}_path")
    }
    rows = shown(project, **hidden, **plain)
    assert {rows[name] for name in hidden} == {"***gh"}
    assert {rows[name] for name in plain} == {"abcdefgh"}


def test_the_end_of_a_secret_as_long_as_a_key_is_shown_and_no_secret_of_an_address(project):
    rows = {
        " 12345678\n": "***78",
        "12345678": "***78",
        "1234567": "***",
        "": "***",
        12345678: "***",
        "***gh": "***gh",  # hidden already
        "***": "***",
        "***ijk": "***",
        "***ijklm": "***lm",
    }
    addresses = {
        "https://me:word@host/x?key=1 and http://b": "https://***@host/x?*** and http://b",
        "https://host/x#part": "https://host/x#***",
        "mail@host?x": "mail@host?x",
    }
    keys = {f"key_{number}": value for number, value in enumerate(rows)}
    values = shown(project, all=list(addresses), is_key=True, **keys)
    assert [values[name] for name in keys] == list(rows.values())
    assert (values["all"], values["is_key"]) == (list(addresses.values()), True)
    assert values["rows"] == [{"token": "***78", "id": "12345678"}]


def test_a_variable_with_one_underscore_too_few_is_told_which_is_meant(project):
    finished = project.command("config", environ={"CODE_COMMIT_HTTP_RETRIES": "1"})
    assert finished.exit_code == 3
    assert "did you mean CODE_COMMIT_HTTP__RETRIES?" in finished.stderr
