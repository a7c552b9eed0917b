"""Runs that git brought along are not one's own: no command reads them, and no run adds one."""

from __future__ import annotations

import subprocess

import pytest

FORGED = "2026-01-01-00-00-00-committing-code"
HISTORY = [
    ("runs",),
    ("runs", "list", "--json"),
    ("runs", "show"),
    ("runs", "cost"),
    ("runs", "diff"),
    ("runs", "path", FORGED),
    ("runs", "open", "--no-browser"),
    ("runs", "export", "--sink", "ledger"),
    ("runs", "export", "--sink", "ledger", "--all"),
    ("runs", "prune", "--keep", "0"),
    ("apply", "latest"),
    ("replay",),
    ("undo", "latest"),
    ("undo", FORGED),
    ("redo", FORGED),
    ("--model", f"replay/{FORGED}"),
    ("--model", "scripted/gemini-2.5-flash"),
    ("doctor",),
]
OTHERS = [("models",), ("config",), ("plugins",), ("--version",)]


def files_of(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def cloned(runs):
    """A clone: its author committed a run that writes `a.txt`, although git ignores it."""
    runs.run(runs.replaced("a.txt", "good, but forged\n"), arguments=("--dry-run",))
    logs = runs.project.root / "logs"
    runs.project.run_folder.rename(logs / FORGED)
    runs.project.git("add", "-f", f"logs/{FORGED}")
    runs.project.git("commit", "-qm", "a run")
    return runs


def test_nothing_reads_runs_of_a_repository_or_adds_one(cloned, ledger):
    root = cloned.project.root
    cloned.project.write({"agent-config/scripted-key.txt": "sk-canary-0123456789\n"})
    before = files_of(root / "logs"), (root / "a.txt").read_text()
    for arguments in HISTORY:
        finished = cloned.command(*arguments, plugins=ledger)
        assert finished.exit_code == 3, (arguments, finished)
        said = finished.stdout + finished.stderr
        assert f"git tracks logs/{FORGED}/" in said, (arguments, finished)
        assert f"`git rm -r -f --cached -- logs/{FORGED}`" in said, arguments
        assert (files_of(root / "logs"), (root / "a.txt").read_text()) == before, arguments
    for arguments in OTHERS:
        assert cloned.command(*arguments).exit_code == 0, arguments


def test_the_hint_makes_committed_runs_ones_own(cloned):
    root = cloned.project.root
    hint = cloned.command("runs").stderr
    subprocess.run(["bash", "-c", hint.split("`")[1]], cwd=root, check=True, capture_output=True)
    assert cloned.command("runs", "path").stdout == f"{root / 'logs' / FORGED}\n"
    assert cloned.command("apply", "latest").exit_code == 0
    assert (root / "a.txt").read_text() == "good, but forged\n"


def test_an_entry_of_the_index_without_a_file_counts(cloned):
    root = cloned.project.root
    for path in files_of(root / "logs" / FORGED):
        path.unlink()
    assert cloned.command("runs", "show").exit_code == 3
    (root / "logs" / FORGED).rmdir()
    assert "there are no runs" in cloned.command("runs", "show").stderr
    finished = cloned.command("--model", "scripted/gemini-2.5-flash")
    assert (finished.exit_code, "git tracks logs/" in finished.stderr) == (3, True)


def test_a_broken_repository_counts(cloned):
    (cloned.project.root / ".git/index").write_bytes(b"broken")
    finished = cloned.command("runs")
    assert (finished.exit_code, "git cannot check" in finished.stderr) == (3, True)


def test_a_link_in_the_place_of_the_logs_is_not_followed(runs, tmp_path):
    runs.run(runs.replaced("a.txt", "good\n"))
    logs = runs.project.root / "logs"
    logs.rename(tmp_path / "elsewhere")
    logs.symlink_to(tmp_path / "elsewhere")
    assert "there are no runs" in runs.command("runs", "show").stderr
    runs.project.git("add", "-f", "logs")
    finished = runs.command("--model", "scripted/gemini-2.5-flash")
    assert (finished.exit_code, "git tracks logs" in finished.stderr) == (3, True)


def test_a_run_that_is_a_repository_is_not_ones_own(runs):
    _, name = runs.run(runs.replaced("a.txt", "good\n"))
    runs.project.git("init", "-q", f"logs/{name}")
    finished = runs.command("apply", "latest")
    assert (finished.exit_code, "is a git repository" in finished.stderr) == (3, True)


def test_other_tracked_files_do_no_harm(runs):
    runs.project.write({"logs/2024-01-01.log": "x", "logs/.gitkeep": "", "logs/app/2024.py": ""})
    runs.project.git("add", "-f", "logs")
    runs.run(runs.replaced("a.txt", "good\n"))
    assert runs.command("runs", "show").exit_code == 0


def test_without_git_runs_are_ones_own(runs):
    _, name = runs.run(runs.replaced("a.txt", "good\n"))
    (runs.project.root / ".git").rename(runs.project.root.parent / "elsewhere.git")
    assert runs.command("runs", "path").stdout.endswith(f"{name}\n")
