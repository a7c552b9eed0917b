"""A rollup of the files that a context chooses."""

from __future__ import annotations

import json

import pytest

from code_commit.plugin_api import estimate_tokens

GREEN = "^^^a.txt\ngood\n^^^end\n"


def test_a_rollup_of_a_choice_is_used_as_it_was_chosen(choose):
    """Later runs read its files again, and call no other file new."""
    project = choose.change.project
    project.write({"agent-config/choice.json": json.dumps(
        {"paths": ["src/c.py", "gone", "a.txt"], "map": {"src/b.py": ["b"]}, "reason": "so"}
    )})  # fmt: skip
    arguments = ("--context=chosen", "--context-tokens=50", "--query=Do it.", "--json")
    finished = choose.command("rollup", *arguments)
    assert finished.exit_code == 0, finished.stderr
    text = project.read("agent-config/codeRollup.txt")
    document = finished.document
    assert text.endswith("\n[other files]\nsrc/b.py: b\n")
    assert document["tokens"] == pytest.approx(estimate_tokens(text), abs=3)
    assert document["tokens"] <= 50
    assert document.pop("bytes") == len(text)
    assert document.pop("left_out") == [
        {"path": "gone", "reason": "It is not among the files to choose from."}
    ]
    assert (document["files"], document["map"]) == (["src/c.py", "a.txt"], ["src/b.py"])
    assert "codeRollup.txt: chosen 2 of 9 files, about " in finished.stderr
    project.write({"src/c.py": "changed = 1\n", "new.py": "new = 1\n"})
    finished = choose([GREEN], "--json", raises="not asked")
    assert finished.exit_code == 0, finished.stderr
    assert "changed since the rollup: src/c.py; the run reads them again" in finished.stderr
    assert choose.shown() == ["a.txt", "src/c.py"]
    assert "changed = 1\n" in choose.prompt()
    assert "\n\nsrc/b.py: b\n" in choose.others()
    [chosen] = choose.events(finished, "context.chosen")
    assert (chosen["context"], chosen["reason"], chosen["total"]) == ("chosen", "so", 10)
    finished = choose([GREEN], settings='[plugins.commit]\nchanged_since_rollup = "stop"\n')
    assert (finished.exit_code, "changed since the rollup" in finished.stderr) == (3, True)
    choose([GREEN], "--context=all")
    assert choose.shown() == [".gitignore", "a.txt", "build.sh", "new.py", *sorted(choose.files)]


def test_a_rollup_without_a_choice_says_what_is_missing(choose):
    project = choose.change.project
    project.write({"agent-config/choice.json": "{}"})
    cases = {
        ("--context=ranked",): (2, "for this one: in a checkout of code-commit, pip install"),
        ("--context=chosen", "--query=x", "--context-tokens=0"): (2, "must be at least 1"),
        ("--query=x",): (2, "need --context"),
        ("--context=auto",): (2, "takes the name of a context here"),
        ("--context=chosen", "--query=x"): (3, "chose no file that fits into 100,000 tokens"),
        ("--context=chosen", "--query= "): (3, "there is no query"),
        ("--context=chosen", "--query=x", "--include=***/["): (3, ""),
    }
    for arguments, (code, words) in cases.items():
        finished = choose.command("rollup", *arguments)
        assert (finished.exit_code, words in finished.stderr) == (code, True), finished.stderr
    assert not (project.root / "agent-config/codeRollup.txt").exists()
