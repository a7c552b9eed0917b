"""`fleet run` on real repositories: results, the pilot, the budget, going on."""

from __future__ import annotations

import fcntl
import json
import shutil
import signal
import socket
import subprocess
import time

import pytest

from code_commit.plugin_api import Usage
from code_commit_testing import Reply


def test_three_repositories_are_changed(fleet):
    fleet.repositories("one", "two", "three")
    fleet.write("one", "two", "three")
    fleet.server.script(*[fleet.good] * 3)
    finished = fleet.run("--workers", "2")
    assert finished.exit_code == 0, finished.stdout + finished.stderr
    assert next(event["kind"] for event in finished.events) == "fleet.started"
    assert finished.events[-1]["kind"] == "fleet.finished"
    assert finished.events[-1]["data"]["outcome"] == "reached"
    assert fleet.outcomes() == {"one": "reached", "two": "reached", "three": "reached"}
    unit = fleet.folder / "fleet.fleet/units" / fleet.lines[0]["unit"]
    assert "+new" in (unit / "change.patch").read_text()
    assert "ended with exit code 0" in (unit / "build.txt").read_text()
    assert (unit / "run/events.jsonl").exists()
    assert (fleet.folder / "one/a.txt").read_text() == "old\n"  # the repository itself stays
    subprocess.run(
        ["git", "apply", "--check", unit / "change.patch"], cwd=fleet.folder / "one", check=True
    )
    assert not list(fleet.tmp.glob("*fleet*"))


def test_a_file_with_the_name_of_a_revision_is_a_file(fleet):
    (one,) = fleet.repositories("one")
    (one / "HEAD").write_text("old\n")
    fleet.git(one, "add", "--", "HEAD")
    fleet.commit(one)
    fleet.write("one")
    fleet.server.script(Reply("^^^a.txt\nnew\n^^^end\n^^^HEAD\nnew\n^^^end\n"))

    assert fleet.run().exit_code == 0

    assert fleet.outcomes() == {"one": "reached"}
    patch = (
        fleet.folder / "fleet.fleet/units" / fleet.lines[0]["unit"] / "change.patch"
    ).read_text()
    assert "diff --git a/HEAD b/HEAD" in patch


def test_a_finished_unit_is_not_run_again(fleet):
    fleet.repositories("one", "two")
    fleet.write("one", "two")
    fleet.server.script(fleet.good, fleet.bad)
    assert fleet.run("--workers", "1").exit_code == 1
    again = fleet.run()
    assert again.exit_code == 1
    assert len(fleet.lines) == 2
    assert len(fleet.server.requests) == 2


def test_the_rest_waits_for_a_pilot_that_was_not_reached(fleet):
    fleet.repositories("one", "two", "three")
    fleet.write("one", "two", "three", head="pilot = 1")
    fleet.server.script(fleet.bad, fleet.good, fleet.good)
    finished = fleet.run()
    assert finished.exit_code == 1
    assert fleet.outcomes() == {"one": "not_reached"}
    assert "--go" in finished.stderr
    assert fleet.run().exit_code == 1  # as before: nothing changed
    assert len(fleet.lines) == 1
    assert fleet.run("--go").exit_code == 1
    assert fleet.outcomes() == {"one": "not_reached", "two": "reached", "three": "reached"}


def test_the_rest_starts_by_itself_after_a_pilot_that_was_reached(fleet):
    fleet.repositories("one", "two")
    fleet.write("one", "two", head="pilot = 1")
    fleet.server.script(fleet.good, fleet.good)
    assert fleet.run().exit_code == 0


def test_skip_leaves_out_what_the_pilot_did_not_reach(fleet):
    fleet.repositories("one", "two")
    fleet.write("one", "two", head="pilot = 1")
    fleet.server.script(fleet.bad, fleet.good)
    assert fleet.run().exit_code == 1
    assert fleet.run("--skip").exit_code == 0
    assert fleet.outcomes() == {"one": "skipped", "two": "reached"}


def test_a_changed_query_runs_the_pilot_again(fleet):
    fleet.repositories("one", "two")
    fleet.write("one", "two", head="pilot = 1")
    fleet.server.script(fleet.bad, fleet.good, fleet.good)
    assert fleet.run().exit_code == 1
    fleet.file.write_text(
        fleet.file.read_text().replace("Make a.txt new.", "Make a.txt new, really.")
    )
    assert fleet.run().exit_code == 0
    assert [row["repository"] for row in fleet.lines] == ["one", "one", "two"]


def test_the_budget_of_the_fleet_stops_it(fleet):
    fleet.repositories("one", "two", "three")
    fleet.write("one", "two", "three", head="max_cost = 0.5\nunit_max_cost = 0.3")
    # $8 for a million of output.
    costly = Reply(text="^^^a.txt\nnew\n^^^end\n", usage=Usage(0, 20_000))
    fleet.server.script(costly, costly, costly)
    finished = fleet.run("--workers", "1")
    assert finished.exit_code == 6, finished.stdout + finished.stderr
    assert finished.events[-1]["data"]["outcome"] == "limit"
    assert [row["cost"] for row in fleet.lines] == [0.16, 0.16]  # a third could pass the limit


def test_a_second_run_beside_the_first_is_refused(fleet):
    fleet.repositories("one")
    fleet.write("one")
    (fleet.folder / "fleet.fleet").mkdir()
    with (fleet.folder / "fleet.fleet/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        finished = fleet.run()
    assert finished.exit_code == 3
    assert "another `fleet run`" in finished.stderr


def test_a_torn_last_line_does_no_harm(fleet):
    fleet.repositories("one", "two")
    fleet.write("one", "two")
    fleet.server.script(fleet.good, fleet.good, fleet.good)
    assert fleet.run("--workers", "1").exit_code == 0
    journal = fleet.folder / "fleet.fleet/units.jsonl"
    whole = journal.read_text()
    journal.write_text(whole[:-40])
    (fleet.folder / "fleet.fleet/tries.jsonl").unlink()  # or the torn try would count as lost
    assert fleet.run().exit_code == 0
    assert [
        row["repository"]
        for row in (
            json.loads(line)
            for line in (whole.splitlines()[0], journal.read_text().splitlines()[-1])
        )
    ] == ["one", "two"]


def test_ctrl_c_stops_cleanly_and_run_goes_on(fleet):
    fleet.repositories("one", "two")
    fleet.write("one", "two")
    fleet.server.script(fleet.good, Reply(fault="hang"), fleet.good)
    with fleet.home.start(
        "fleet",
        "run",
        "fleet.toml",
        "--json",
        "--workers",
        "1",
        environ=fleet.environment(),
        cwd=fleet.folder,
    ) as process:
        while len(fleet.server.requests) < 2:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert json.loads(stdout.splitlines()[-1])["data"]["outcome"] == "interrupted"
    assert fleet.outcomes() == {"one": "reached", "two": "interrupted"}
    assert fleet.run().exit_code == 0
    assert fleet.outcomes() == {"one": "reached", "two": "reached"}


@pytest.mark.parametrize("flags", [("--json",), ()])
def test_ctrl_c_before_the_first_call_costs_nothing(fleet, flags):
    fleet.repositories("one")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        fleet.write(
            "one", head=f"setup = 'exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]}; sleep 600'"
        )
        with fleet.home.start(
            "fleet", "run", "fleet.toml", *flags, environ=fleet.environment(), cwd=fleet.folder
        ) as process:
            server.accept()[0].close()  # the setup runs
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    if flags:
        assert json.loads(stdout.splitlines()[-1])["kind"] == "fleet.finished"
    else:
        assert (
            b"error: interrupted: 0 of 1 unit reached, $0.0000\nhint: `code-commit fleet run "
            in stderr
        )
    assert [(row["outcome"], row["exit_code"], row["cost"]) for row in fleet.lines] == [
        ("interrupted", 130, 0.0)
    ]


def test_units_at_once_bounds_each_provider(fleet):
    names = [f"r{number}" for number in range(4)]
    fleet.repositories(*names)
    fleet.write(*names, head='models = ["gpt-4.1"]\nunits_at_once = { openai = 1 }')
    fleet.server.script(*[fleet.good] * 4)
    finished = fleet.run("--workers", "4")
    assert finished.exit_code == 0, fleet.lines
    now, peak = 0, 0
    for event in finished.events:
        now += {"unit.started": 1, "unit.finished": -1}.get(event["kind"], 0)
        peak = max(peak, now)
    assert peak == 1


def test_retry_status_show_and_export(fleet):
    fleet.repositories("one", "two")
    fleet.write("one", "two")
    fleet.server.script(fleet.good, fleet.bad, fleet.good)
    assert fleet.run("--workers", "1").exit_code == 1
    assert fleet.command("status").exit_code == 1
    shown = fleet.command("show", "two").stdout
    assert ("error: no new" in shown, ", 1 attempt, " in shown) == (True, True)
    assert fleet.command("retry", "--failed", "fleet.toml").exit_code == 0
    assert [(row["repository"], row["try"]) for row in fleet.lines] == [
        ("one", 1),
        ("two", 1),
        ("two", 2),
    ]
    status = fleet.command("status", "--json")
    assert status.document["outcomes"] == {"reached": 2}
    assert fleet.command("export", "--patches").exit_code == 0
    assert sorted(path.name for path in (fleet.folder / "fleet.patches").iterdir()) == [
        "one.patch",
        "two.patch",
    ]
    table = fleet.command("export", "--csv").stdout.splitlines()
    assert table[0].startswith("unit,repository,model,try,outcome")
    assert len(table) == 3
    assert fleet.command("export", "--branches").exit_code == 0
    shown = subprocess.run(
        ["git", "show", "code-commit/fleet:a.txt"],
        cwd=fleet.folder / "two",
        capture_output=True,
        check=True,
    )
    assert shown.stdout == b"new\n"
    assert fleet.command("export", "--branches").exit_code == 0  # again does nothing
    fleet.git(fleet.folder / "two", "branch", "--force", "code-commit/fleet", "HEAD")
    finished = fleet.command("export", "--branches")
    assert (finished.exit_code, "the branch exists with different content" in finished.stderr) == (
        1,
        True,
    )


def test_keys_come_from_the_folder_of_the_worker_or_of_the_repository(fleet):
    """A project's own key file is the stronger one, as in the project itself."""
    one, _ = fleet.repositories("one", "two")
    (one / "agent-config").mkdir(exist_ok=True)
    (one / "agent-config/openai-key.txt").write_text("sk-of-the-project-0123456789\n")
    keys = fleet.folder / "keys"
    keys.mkdir()
    (keys / "openai-key.txt").write_text("sk-of-the-worker-0123456789\n")
    fleet.write("one", "two")
    fleet.server.script(fleet.good, fleet.good)
    environ = {"OPENAI_API_KEY": "", "CODE_COMMIT_PLUGINS__FLEET__KEYS_FROM": str(keys)}
    finished = fleet.run("--workers", "1", **environ)
    assert finished.exit_code == 0, (finished.stderr, fleet.lines)
    sent = [request.headers["authorization"] for request in fleet.server.requests]
    assert sent == ["Bearer sk-of-the-project-0123456789", "Bearer sk-of-the-worker-0123456789"]
    stored = b"".join(
        path.read_bytes() for path in (fleet.folder / "fleet.fleet").rglob("*") if path.is_file()
    )
    assert b"sk-of-the" not in stored


@pytest.mark.parametrize(
    "link", ["agent-config/openai-key.txt", "agent-config/config.toml", "agent-config"]
)
def test_no_key_is_written_through_a_link_that_a_repository_has(fleet, link):
    (one,) = fleet.repositories("one")
    outside = fleet.folder / "outside"
    shutil.rmtree(one / "agent-config", ignore_errors=True)
    (one / link).parent.mkdir(exist_ok=True)
    (one / link).symlink_to(outside)
    fleet.git(one, "add", "-f", link)
    fleet.commit(one)
    keys = fleet.folder / "keys"
    keys.mkdir()
    (keys / "openai-key.txt").write_text("sk-of-the-worker-0123456789\n")
    (keys / "config.toml").write_text('[providers.openai.default]\nmodel = "gpt-4.1"\n')
    fleet.write(f"file://{one}")  # known to the worker alone
    finished = fleet.run(
        "--workers", "1", OPENAI_API_KEY="", CODE_COMMIT_PLUGINS__FLEET__KEYS_FROM=str(keys)
    )
    assert finished.exit_code == 1, finished.stderr
    assert fleet.outcomes() == {"one": "not_ready"}
    assert "git tracks agent-config" in fleet.lines[0]["error"]
    assert not outside.exists()
    assert fleet.server.requests == []


def test_a_repository_that_brings_runs_is_not_changed(fleet):
    """Its run folders may be forged, and may be links to those of other projects."""
    (one,) = fleet.repositories("one")
    outside = fleet.folder / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("not of this run")
    forged = one / "logs/9999-01-01-00-00-00-committing-code"
    forged.mkdir(parents=True)
    (forged / "events.jsonl").write_text("{}\n")
    (one / "logs/9999-02-02-00-00-00-committing-code").symlink_to(outside)
    fleet.git(one, "add", "-f", "logs")
    fleet.commit(one)
    fleet.write("one", head="max_cost = 1.0")
    fleet.server.script(fleet.good)
    assert fleet.run("--workers", "1").exit_code == 1
    assert fleet.outcomes() == {"one": "not_ready"}
    assert "git tracks logs/9999-" in fleet.lines[0]["error"]
    assert fleet.server.requests == []
    unit = next((fleet.folder / "fleet.fleet/units").iterdir())
    assert not [path for path in unit.rglob("*") if path.name in {"secret.txt", "events.jsonl"}]
