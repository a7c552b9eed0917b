"""`code-commit check --keys`: whether files of the project hold an API key that is configured here."""

from __future__ import annotations

import base64
import json

import pytest

from code_commit_testing import Project

KEY = "sk-canary-0123456789-key7Q"
OWN = "sk-own-9876543210-config"


@pytest.fixture
def project(tmp_path):
    made = Project.create(tmp_path, files={"a.txt": "old\n", "with.txt": f"key = '{KEY}'\n"})
    made.write({"agent-config/gemini-key.txt": f"{KEY}\n"})
    return made


def test_a_file_that_holds_a_key_is_named(project):
    done = project.command("check", "--keys", "a.txt", "with.txt")
    assert (done.exit_code, done.stdout) == (
        1,
        "a.txt: no key\nwith.txt: holds an API key that is configured here (key)\n",
    )
    assert KEY not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "form", [base64.b64encode(f"-{KEY}".encode()), KEY.encode().hex().encode(), b"\xff\x00" + KEY.encode()]
)
def test_every_form_that_would_be_censored_counts(project, form):
    (project.root / "form.bin").write_bytes(form)
    assert project.command("check", "--keys", "form.bin").exit_code == 1


@pytest.mark.parametrize(
    ("files", "environ"),
    [
        ({"agent-config/config.toml": f'[providers.openai.mine]\nmodel = "x"\napi_key = "{OWN}"\n'}, {}),
        ({}, {"ANTHROPIC_API_KEY": OWN}),
        ({"agent-config/imaginary-key.txt": OWN}, {}),
    ],
)
def test_a_key_counts_wherever_it_is_configured(project, files, environ):
    project.write({**files, "other.txt": OWN})
    done = project.command("check", "--keys", "--json", "other.txt", environ=environ)
    [row] = done.document["paths"]
    assert (done.exit_code, row["allowed"], row["reasons"][0]["rule"]) == (1, False, "key")
    assert OWN not in json.dumps(done.document) + done.stderr


def test_a_project_that_does_not_keep_its_keys_out_of_git_is_told(tmp_path):
    project = Project.create(tmp_path, gitignore="\n")
    done = project.command("check", "--keys", "a.txt")
    assert done.exit_code == 3
    assert "/agent-config" in done.stderr


@pytest.mark.parametrize("path", ["none.txt", "../home", "link.txt", "folder"])
def test_what_cannot_be_read_is_no_pass(project, path):
    (project.root / "link.txt").symlink_to(project.root / "with.txt")
    (project.root / "folder").mkdir()
    done = project.command("check", "--keys", path)
    assert done.exit_code == 3, done.stdout
    assert path in done.stderr


def test_two_questions_at_once_are_none(project):
    assert project.command("check", "--keys", "--read", "a.txt").exit_code == 2
