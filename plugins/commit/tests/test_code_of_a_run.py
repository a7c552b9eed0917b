"""The code that a run shows to the model: collected again with --rollup, and not larger than the
model's window.
"""

from __future__ import annotations

import os
import re

import pytest

from code_commit_testing import ScriptedServer, install_plugin

GREEN = "^^^a.txt\ngood\n^^^end\n"
# A provider whose model reads little.
SMALL = """
from dataclasses import replace
from code_commit.plugin_api import hookimpl
from code_commit_testing import loopback_provider

@hookimpl
def code_commit_providers():
    [definition] = loopback_provider.code_commit_providers()
    return [replace(definition, windows={"loopback-1": 200})]
"""


def codebase(change) -> str:
    """Return the code in the latest prompt."""
    return change.prompts()[-1].partition("[codebase]\n")[2]


@pytest.mark.parametrize(
    ("patterns", "shown"), [((), ["a.txt", "b.txt"]), (("--exclude", "b.txt"), ["a.txt"])]
)
def test_the_code_is_collected_again_with_the_same_patterns(change, patterns, shown):
    project = change.project
    project.write({"b.txt": "b\n"})
    assert (
        project.command(
            "rollup", "--exclude", "build.sh", "--exclude", ".gitignore", *patterns
        ).exit_code
        == 0
    )
    project.write({"a.txt": "newest\n"})
    finished = change(
        [GREEN], "--rollup", settings='[plugins.commit]\nchanged_since_rollup = "stop"\n'
    )
    assert finished.exit_code == 0, finished.stderr
    assert f"collected {len(shown)} file" in finished.stderr
    assert "--- a.txt ---\nnewest\n" in codebase(change)
    assert [
        path for path in ("a.txt", "b.txt", "build.sh") if f"--- {path} ---" in codebase(change)
    ] == shown


def test_without_a_rollup_the_code_is_collected(change):
    (change.project.root / "agent-config/codeRollup.txt").unlink()
    assert change([GREEN], "--rollup").exit_code == 0
    assert "--- a.txt ---\nold\n" in codebase(change)


def test_a_rollup_whose_files_are_gone_is_not_made_again(change):
    change.project.write({"b.txt": "b\n"})
    assert change.project.command("rollup", "--include", "b.txt").exit_code == 0
    (change.project.root / "b.txt").unlink()
    finished = change([GREEN], "--rollup")
    assert (finished.exit_code, change.project.read("a.txt")) == (3, "old\n")
    assert "there is no code to collect: git lists no text file here" in finished.stderr


def test_a_rollup_of_a_script_is_not_made_again(change):
    finished = change([GREEN], "--rollup")
    assert (finished.exit_code, change.project.read("a.txt")) == (3, "old\n")
    assert "so --rollup cannot update it" in finished.stderr
    assert "such as codeRollup.sh" in finished.stderr


@pytest.mark.parametrize("model", ["gpt-4o", "gemini-2.5-pro"])
def test_a_prompt_larger_than_the_window_is_refused_before_the_call(change, model):
    large = "words of a text\n" * (30_000 if model == "gpt-4o" else 300_000)
    rollup = f"--- a.txt ---\nold\n--- src/a.py ---\n{large}\n--- src/b.py ---\n{large[:200_000]}\n--- z ---\nz\n"
    change.project.write({"agent-config/codeRollup.txt": rollup})
    finished = change([GREEN], "--model", f"scripted/{model}")
    assert (finished.exit_code, change.project.read("a.txt")) == (3, "old\n")
    assert f"tokens, and {model} reads at most " in finished.stderr
    found = re.search(
        r"most of it is in src/ \(about ([\d,]+) tokens\), a\.txt \(about 1 token\), z \(about",
        finished.stderr,
    )
    assert found
    assert int(found[1].replace(",", "")) == pytest.approx(
        len(large + large[:200_000]) / 16 * 4.7, rel=0.2
    )
    assert "`code-commit rollup --exclude /src/`" in finished.stderr
    assert not list(change.project.root.glob("logs/*/"))


def test_a_small_window_that_a_plugin_names_is_kept(change, tmp_path):
    plugins = install_plugin(tmp_path / "plugins", "small", SMALL)
    with ScriptedServer([GREEN]) as server:
        environ = {"LOOPBACK_BASE_URL": server.url("openai")}
        finished = change.project.command(
            "--model", "loopback-1", plugins=[plugins], environ=environ
        )
        assert (finished.exit_code, server.requests) == (3, [])
    assert "tokens, and loopback-1 reads at most 200\n" in finished.stderr


def test_a_window_that_is_no_number_is_ignored(change, tmp_path):
    plugins = install_plugin(tmp_path / "plugins", "small", SMALL.replace("200", "'8k'"))
    with ScriptedServer(["^^^a.txt\nnew\n^^^end\n"]) as server:
        environ = {"LOOPBACK_BASE_URL": server.url("openai")}
        finished = change.project.command(
            "--model", "loopback-1", "--dry-run", plugins=[plugins], environ=environ
        )
    assert finished.exit_code == 0, finished.stderr


def test_a_query_larger_than_the_window_is_named(change):
    change.project.write({"agent-config/query.txt": "words of a text\n" * 30_000})
    finished = change([GREEN], "--model", "scripted/gpt-4o")
    assert finished.exit_code == 3
    assert (
        "hint: shorten the query, or choose another model; most of the prompt is the query\n"
        in finished.stderr
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("pipe", "the query is empty"),
        ("/dev/zero", "the query file /dev/zero has more than 67,108,864 bytes"),
        ("gone.txt", "cannot read the query file gone.txt: No such file or directory"),
        ("agent-config", "cannot read the query file agent-config: Is a directory"),
    ],
)
def test_a_query_file_that_holds_no_query_is_refused(change, name, words):
    os.mkfifo(change.project.root / "pipe")
    finished = change([GREEN], "--query-file", name)
    assert finished.exit_code == 3
    assert words in finished.stderr


def test_a_query_is_read_from_a_pipe(change):
    pipe = change.project.root / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    pipe.write_text("Do it.")
    assert change([GREEN], "--query-file", "pipe").exit_code == 0
    os.close(reader)
    assert "[query]\nDo it.\n" in change.prompts()[0]


def test_a_query_file_that_leads_out_of_the_project_is_not_read(change, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("a secret of the user")
    (change.project.root / "issue.md").symlink_to(secret)
    finished = change([GREEN], "--query-file", "issue.md")
    assert finished.exit_code == 3
    assert "the query file issue.md leads out of the project through a link" in finished.stderr
    (tmp_path / "issue.md").symlink_to(secret)  # a link of the user's
    assert change([GREEN], "--query-file", str(tmp_path / "issue.md")).exit_code == 0


@pytest.mark.parametrize(
    ("model", "size"), [("gpt-4o", 25_000), ("unheard-of", 60_000)], ids=["fits", "unknown"]
)
def test_other_prompts_are_sent(change, model, size):
    change.project.write(
        {"agent-config/codeRollup.txt": f"--- a.txt ---\nold\n{'words of a text ' * size}\n"}
    )
    assert change([GREEN], "--model", f"scripted/{model}").exit_code == 0
