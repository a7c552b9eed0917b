"""`code-commit check --keys`: whether files of the project contain a configured API key."""

from __future__ import annotations

import base64
import json
import textwrap

import pytest

from code_commit_testing import Project

KEY = "sk-canary-0123456789-key7Q"
OWN = "sk-own-9876543210-config"


@pytest.fixture
def project(tmp_path):
    made = Project.create(tmp_path, files={"a.txt": "old\n", "with.txt": f"key = '{KEY}'\n"})
    made.write({"agent-config/gemini-key.txt": f"{KEY}\n"})
    return made


def test_check_names_each_file_that_contains_a_key(project):
    done = project.command("check", "--keys", "a.txt", "with.txt")
    assert (done.exit_code, done.stdout) == (
        1,
        "a.txt: no key\nwith.txt: contains a configured API key (key)\n",
    )
    assert KEY not in done.stdout + done.stderr


def test_check_finds_every_censored_form_of_a_key_and_no_other(project):
    in_lines = "\n".join(textwrap.wrap(base64.b64encode(f"a={KEY}".encode()).decode(), 20))
    found = {
        "base64": base64.b64encode(f"-{KEY}".encode()),
        "base64-in-lines": in_lines.encode(),
        "base64-of-utf-16": base64.b64encode(KEY.encode("utf-16")),
        "hex": KEY.encode().hex(":").upper().encode(),
        "binary": b"\xff\x00" + KEY.encode(),
        "utf-16": f"key = {KEY}\n".encode("utf-16"),
        "json-in-utf-16": json.dumps({"key": in_lines}).encode("utf-16-be"),
    }
    limits = {
        "half": KEY[:-8].encode(),
        "halves": f"{KEY[:13]}\n{KEY[13:]}".encode(),
        "blanks": " ".join(KEY).encode(),
        "reversed": KEY[::-1].encode(),
    }
    for name, form in (found | limits).items():
        (project.root / name).write_bytes(form)
    done = project.command("check", "--keys", "--json", *found, *limits)
    assert {row["path"] for row in done.document["paths"] if not row["allowed"]} == set(found)


FLAGS = [
    "--help",
    "-h",
    "--version",
    "-V",
    "-C",
    "--json",
    "--debug",
    "--disable-plugin",
    "--disable-plugin=commit",
    "--",
]


@pytest.mark.parametrize("name", [*FLAGS, "@file", "a\nb.txt", "-"])
def test_check_takes_every_word_after_two_dashes_as_a_path(project, name):
    """A hook passes all names of files, and a repository may have any."""
    project.write({name: f"{KEY}\n"})
    done = project.command("check", "--keys", "--", "a.txt", name)
    assert (done.exit_code, "contains a configured API key" in done.stdout) == (1, True), done
    (project.root / name).write_text("no key\n")
    assert project.command("check", "--keys", "--", "a.txt", name).exit_code == 0


@pytest.mark.parametrize(
    ("files", "environ"),
    [
        (
            {
                "agent-config/config.toml": f'[providers.openai.mine]\nmodel = "x"\napi_key = "{OWN}"\n'
            },
            {},
        ),
        ({}, {"ANTHROPIC_API_KEY": OWN}),
        ({"agent-config/imaginary-key.txt": OWN}, {}),
    ],
)
def test_check_finds_keys_from_every_source(project, files, environ):
    project.write({**files, "other.txt": OWN})
    done = project.command("check", "--keys", "--json", "other.txt", environ=environ)
    [row] = done.document["paths"]
    assert (done.exit_code, row["allowed"], row["reasons"][0]["rule"]) == (1, False, "key")
    assert OWN not in json.dumps(done.document) + done.stderr


def test_check_fails_if_git_does_not_ignore_the_keys(tmp_path):
    project = Project.create(tmp_path, gitignore="\n")
    done = project.command("check", "--keys", "a.txt")
    assert done.exit_code == 3
    assert "/agent-config" in done.stderr


@pytest.mark.parametrize("path", ["none.txt", "../home", "link.txt", "folder"])
def test_check_fails_for_an_unreadable_path(project, path):
    (project.root / "link.txt").symlink_to(project.root / "with.txt")
    (project.root / "folder").mkdir()
    done = project.command("check", "--keys", path)
    assert done.exit_code == 3, done.stdout
    assert path in done.stderr


def test_keys_and_read_exclude_each_other(project):
    assert project.command("check", "--keys", "--read", "a.txt").exit_code == 2
