"""Repositories as they come: never prepared, shallow, with other hashes, with programs in their
settings.
"""

from __future__ import annotations

import shutil
import subprocess

import pytest


def without(fleet, name, *files):
    """Make a repository that lacks these files."""
    folder = fleet.repositories(name)[0]
    for file in files:
        (folder / file).unlink()
    fleet.commit(folder)
    return folder


def patch_of(fleet, row) -> str:
    return (fleet.folder / "fleet.fleet/units" / row["unit"] / "change.patch").read_text()


def test_what_a_local_repository_lacks_is_said_before_anything_runs(fleet):
    without(fleet, "one", "build.sh")
    two = fleet.repositories("two")[0]
    (two / "agent-config").mkdir(exist_ok=True)
    (two / "agent-config/config.toml").touch()
    fleet.git(two, "add", "--force", "agent-config")
    fleet.commit(two)
    fleet.write("one", "two")
    finished = fleet.run()
    assert (finished.exit_code, fleet.server.requests) == (3, [])
    assert "fleet.toml:5: url: " in finished.stderr
    assert "/one has no build.sh in its commit; commit one, or set `build`" in finished.stderr
    assert "fleet.toml:8: url: git tracks agent-config in " in finished.stderr


def test_build_is_for_repositories_that_have_none_and_is_no_part_of_the_result(fleet):
    one = without(fleet, "one", "build.sh", ".gitignore")
    fleet.repositories("two")  # its own build.sh wins
    fleet.write("one", "two", head="build = 'echo ours; ! grep -q old a.txt'")
    fleet.server.script(fleet.good, fleet.good)
    assert fleet.run("--workers", "1").exit_code == 0, fleet.lines
    for row, ours in zip(fleet.lines, (True, False), strict=True):
        assert patch_of(fleet, row).count("diff --git") == 1
        build = fleet.folder / "fleet.fleet/units" / row["unit"] / "build.txt"
        assert ("ours" in build.read_text()) == ours
    assert sorted(path.name for path in one.iterdir()) == [".git", "a.txt"]


def test_a_unit_that_could_not_begin_runs_again_once_it_can(fleet):
    """A clone without a build.sh is known only when it is there. A call may cost more than a unit."""
    one = without(fleet, "one", "build.sh")
    _, three = fleet.repositories("two", "three")
    (three / ".gitignore").unlink()
    (three / ".gitignore").symlink_to("a.txt")
    fleet.commit(three)
    head = "max_cost = 2.0\nunit_max_cost = 0.01"
    fleet.write(f"file://{one}", "two", f"file://{three}", head=head)
    fleet.server.script(fleet.good, fleet.good, fleet.good)
    assert fleet.run().exit_code == 1
    assert fleet.server.requests == []
    rows = {row["repository"]: row for row in fleet.lines}
    assert {name: (row["outcome"], row["cost"]) for name, row in rows.items()} == {
        "one": ("not_ready", 0),
        "two": ("limit", 0),
        "three": ("not_ready", 0),
    }
    assert rows["three"]["error"].startswith(".gitignore cannot be written: ")
    assert (
        rows["one"]["error"]
        == "the repository has no build.sh; commit one, or set `build` in the fleet file"
    )
    fleet.write(f"file://{one}", "two", head="max_cost = 2.0\nbuild = 'true'")
    assert fleet.run().exit_code == 0
    assert fleet.run().exit_code == 0  # and that is that
    assert (len(fleet.lines), len(fleet.server.requests)) == (5, 2)


def test_shallow_and_sha256_repositories_are_cloned(fleet):
    one = fleet.repositories("one")[0]
    (one / "a.txt").write_text("older\n")
    fleet.commit(one)
    subprocess.run(
        ["git", "clone", "-q", "--depth=1", f"file://{one}", fleet.folder / "shallow"], check=True
    )
    other = fleet.repositories("other")[0]
    shutil.rmtree(other / ".git")
    fleet.git(other, "init", "-q", "--object-format=sha256")
    fleet.git(other, "add", "-A")
    fleet.git(other, "commit", "-qm", "start")
    fleet.write("shallow", "other", f"file://{other}/.git", head="")
    text = fleet.file.read_text()
    fleet.file.write_text(f"{text}name = 'other-url'\n")
    fleet.server.script(fleet.good, fleet.good, fleet.good)
    assert fleet.run().exit_code == 0, fleet.lines
    assert all("+new" in patch_of(fleet, row) for row in fleet.lines)
    fleet.command("export", "--branches")  # not for the one that was cloned from a URL
    assert fleet.git(other, "show", "code-commit/fleet:a.txt") == "new\n"


@pytest.mark.usefixtures("bubblewrap")
def test_programs_in_the_settings_of_a_repository_do_not_run(fleet):
    one = fleet.repositories("one")[0]
    (one / ".gitattributes").write_text("*.txt filter=evil diff=evil\n")
    fleet.git(one, "add", "-A")
    fleet.commit(one)
    owned = fleet.folder / "owned"
    owned.mkdir()
    for name in ("post-checkout", "pre-commit", "reference-transaction", "post-index-change"):
        hook = one / ".git/hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {owned}/{name}\n")
        hook.chmod(0o755)
    for key in ("core.fsmonitor", "core.sshCommand", "uploadpack.packObjectsHook", "diff.external"):
        fleet.git(one, "config", key, f"touch {owned}/{key}")
    for key in ("filter.evil.clean", "filter.evil.smudge", "diff.evil.textconv"):
        fleet.git(one, "config", key, f"touch {owned}/{key}; cat")
    for child in owned.iterdir():  # by the test's own git
        child.unlink()
    fleet.write("one")
    fleet.server.script(fleet.good)
    finished = fleet.run()
    assert (finished.exit_code, "1 of 1 unit reached" in finished.stdout + finished.stderr) == (
        0,
        True,
    ), fleet.lines
    finished = fleet.command("export", "--branches")
    assert (finished.exit_code, finished.stdout.splitlines()[-1]) == (0, "1 branch")
    assert list(owned.iterdir()) == []
