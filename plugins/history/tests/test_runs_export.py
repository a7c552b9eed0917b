"""`code-commit runs export`: send earlier runs to log sinks."""

from __future__ import annotations

import pytest

from code_commit_testing import Project, install_plugin


def test_a_sink_receives_an_earlier_run_with_its_diffs(runs, ledger, tmp_path):
    _, name = runs.run(runs.replaced("a.txt", "bad\n"), runs.replaced("a.txt", "good\n"))
    moved = tmp_path / "moved"
    runs.project.root.rename(moved)
    project = Project(moved, runs.project.home)
    finished = project.command("runs", "export", "--sink", "ledger", "--json", plugins=ledger)
    assert finished.document == {"sink": "ledger", "exported": [name], "failed": {}}
    diffs = (moved / "logs" / name / "ledger.txt").read_text()
    assert "-old\n+bad\n" in diffs
    assert "-bad\n+good\n" in diffs
    assert "-old\n+good\n" in (moved / "logs" / name / "all-changes.diff").read_text()


def test_export_sends_the_same_records_as_the_run(runs, ledger):
    _, name = runs.run(
        runs.replaced("a.txt", "bad\n"), runs.replaced("a.txt", "good\n"), plugins=ledger
    )
    file = runs.project.root / "logs" / name / "ledger.txt"
    live = file.read_text()
    assert "+good" in live
    file.unlink()
    assert runs.command("runs", "export", "--sink", "ledger", plugins=ledger).exit_code == 0
    assert file.read_text() == live


def test_a_sink_that_fails_is_reported(runs, ledger):
    runs.project.root.rename(runs.project.root.with_name("break"))
    runs.project = Project(runs.project.root.with_name("break"), runs.project.home)
    _, name = runs.run(runs.replaced("a.txt", "good\n"))
    finished = runs.command("runs", "export", "--sink", "ledger", "--all", "--json", plugins=ledger)
    assert finished.exit_code == 1
    assert "on purpose" in finished.document["failed"][name]


ASYNC_SINK = """
from code_commit.plugin_api import hookimpl

class Later:
    async def receive(self, record):
        raise AssertionError("nobody waits for it")
    def close(self):
        pass

@hookimpl
def code_commit_log_sinks(settings):
    return [Later()]
"""


def test_an_async_sink_is_reported(runs, tmp_path):
    plugins = [install_plugin(tmp_path / "plugins", "later", ASYNC_SINK)]
    finished, name = runs.run(runs.replaced("a.txt", "good\n"), plugins=plugins)
    assert (
        "of code-commit-later failed (log sink: receive): TypeError: it is async" in finished.stderr
    )
    exported = runs.command("runs", "export", "--sink", "later", "--json", plugins=plugins)
    assert (exported.exit_code, exported.document["failed"]) == (
        1,
        {name: "TypeError: it is async; use a plain function"},
    )


RAISING_SINK = """
from code_commit.plugin_api import hookimpl

class Interrupted:
    def receive(self, record):
        raise KeyboardInterrupt
    def close(self):
        pass

@hookimpl
def code_commit_log_sinks(settings):
    {act}
"""


@pytest.mark.parametrize(
    ("act", "code", "said"),
    [
        ("return [Interrupted()]", 130, "error: interrupted\n"),
        (
            "raise ValueError('on purpose')",
            3,
            "error: the plugin odd returned no sink: ValueError: on purpose\n",
        ),
        (
            "return []",
            3,
            "error: the plugin odd returned no sink\nhint: its settings may turn it off\n",
        ),
    ],
)
def test_a_sink_that_receives_nothing(runs, tmp_path, act, code, said):
    runs.project.write({"logs/2026-01-01-00-00-00-committing-code/run.json": "{}"})
    runs.run("down")
    plugins = [install_plugin(tmp_path / "plugins", "odd", RAISING_SINK.format(act=act))]
    finished = runs.command("runs", "export", "--sink", "odd", plugins=plugins)
    assert (finished.exit_code, finished.stderr) == (code, said)


@pytest.mark.slow
def test_a_diff_that_is_too_large_is_not_shown_or_exported(runs, tmp_path):
    settings = '[plugins.commit]\nunseen_file = "allow"\n'
    runs.project.write({"large.txt": "y" * 70_000_000, "agent-config/config.toml": settings})
    deleting = "^^^large.txt\n^^^delete\n"
    _, name = runs.run(runs.replaced("a.txt", "bad\n") + deleting, runs.replaced("a.txt", "good\n"))
    for more in ([], ["--patch", str(tmp_path / "large.patch")]):
        finished = runs.command("runs", "diff", *more)
        assert (finished.exit_code, finished.stdout) == (3, "")
        assert finished.stderr.startswith("error: the diff is larger than 64 MiB\n")
    assert runs.command("runs", "diff", "--attempt", "2").stdout.endswith("-bad\n+good\n")
    act = "return [type('Ignoring', (Interrupted,), {'receive': lambda self, record: None})()]"
    odd = [install_plugin(tmp_path / "plugins", "odd", RAISING_SINK.format(act=act))]
    assert runs.command("runs", "export", "--sink", "odd", plugins=odd).exit_code == 0
    folder = runs.project.root / "logs" / name
    assert [file.name for file in folder.glob("*.diff")] == ["2-changes.diff"]
