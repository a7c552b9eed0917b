"""Faults on a worker: each is bounded and told, and a unit beside it is not harmed."""

from __future__ import annotations

import json
import os
import random
import select
import shutil
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from types import SimpleNamespace

import pytest
from distributed import Security

from code_commit.plugin_api import Usage
from code_commit_fleet import unit
from code_commit_fleet.bundle import unpack
from code_commit_fleet.checkout import WorkerFolder
from code_commit_fleet.driver import Driver, Ended, Limits
from code_commit_fleet.fleet_folder import FleetFolder, Tried, latest
from code_commit_fleet.plan import Unit
from code_commit_testing import Reply


def test_a_unit_that_never_ends_times_out_and_may_have_cost_all(fleet):
    fleet.repositories("one", "two")
    for limit in (4, 16, 64):  # on a busy machine, the other one may need longer
        fleet.write(
            "one", "two", head=f"unit_timeout = {limit}\nmax_cost = 4.0\nunit_max_cost = 1.0"
        )
        fleet.server.script(fleet.good, Reply(fault="hang"))
        assert fleet.run("--workers", "2").exit_code == 1
        rows = {row["outcome"]: row for row in fleet.lines}
        if len(rows) == 2:
            break
        shutil.rmtree(fleet.folder / "fleet.fleet")
    assert set(rows) == {"reached", "timeout"}
    assert rows["timeout"]["cost"] == 1.0
    assert rows["reached"]["cost"] < 1.0


def test_a_clone_that_hangs_ends_at_its_time_limit(fleet):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        fleet.write(f"http://127.0.0.1:{silent.getsockname()[1]}/x.git", head="clone_timeout = 1")
        assert fleet.run().exit_code == 1
    row = fleet.lines[0]
    assert (row["outcome"], row["cost"]) == ("not_ready", 0.0)
    assert "within 1 seconds" in row["error"]


def test_a_unit_that_cannot_begin_says_why(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder, key = WorkerFolder(), tmp_path / "key.pem"
    (folder.path / "mirrors").touch()
    monkeypatch.setattr(unit, "_folder", [folder])
    worker = SimpleNamespace(security=Security(tls_worker_key=str(key)))
    monkeypatch.setattr("distributed.get_worker", lambda: worker)
    order = {
        "unit": "x",
        "url": "/r",
        "ref": "",
        "commit": "",
        "unit_timeout": 60,
        "clone_timeout": 60,
    }
    for more, message in (
        (
            {"try": 7, "sandbox": "auto"},
            f"builds could read the TLS key {key} of this worker; move it to ",
        ),
        ({"try": 7, "sandbox": "auto"}, "the try x-7 has already run on this worker"),
        ({"try": 8, "sandbox": "off"}, "/r cannot be cloned: Not a directory"),
    ):
        record = unpack(unit.run_unit(json.dumps(order | more).encode()), tmp_path / "result")
        assert record["error"].startswith(message)
        assert (record["outcome"], record["cost"]) == ("not_ready", 0.0)
    folder.close()


PRICE = 0.0028  # USD for 1,000 tokens in and 100 out of gpt-4.1

# Mounts a disk of a few kilobytes at $1, for the command that follows alone; keeps what is on it in
# $1.kept.
SMALL_DISK = """\
mount -t tmpfs -o size=$2 none "$1" || exit 99
disk=$1; shift 2; "$@"; code=$?
cp -r "$disk" "$disk.kept"; exit $code
"""


def run_with_disk(fleet, disk, size, **environ):
    """Run the fleet with a small disk at the folder `disk`; return exit code, events and stderr."""
    disk.mkdir()
    unshare = shutil.which("unshare") or ""
    command = [unshare, "--map-root-user", "--mount", "bash", "-c", SMALL_DISK, "-", str(disk)]
    env = fleet.home.environment(fleet.environment(**environ))
    if (
        not unshare
        or subprocess.run(
            [*command, "64k", "true"], env=env, check=False, capture_output=True
        ).returncode
    ):
        pytest.skip("needs to mount a disk")
    (disk.with_name(f"{disk.name}.kept")).rmdir()
    run = [sys.executable, "-m", "code_commit", "fleet", "run", "fleet.toml", "--json"]
    finished = subprocess.run(
        [*command, size, *run],
        env=env,
        cwd=fleet.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return (
        finished.returncode,
        [json.loads(line) for line in finished.stdout.splitlines()],
        finished.stderr,
    )


def test_a_worker_with_a_full_disk_tells_so_and_costs_nothing(fleet):
    one = fleet.repositories("one")[0]
    (one / "large.bin").write_bytes(random.Random(1).randbytes(1_000_000))  # noqa: S311 - not a secret
    fleet.git(one, "add", "-A")
    fleet.commit(one)
    fleet.write("one", head="max_cost = 1.0")
    disk = fleet.folder / "disk"
    code, events, stderr = run_with_disk(fleet, disk, "500k", TMPDIR=str(disk))
    assert (code, events[-1]["kind"], events[-1]["data"]["exit_code"]) == (
        1,
        "fleet.finished",
        1,
    ), stderr
    assert [(row["try"], row["outcome"], row["cost"]) for row in fleet.lines] == [
        (1, "not_ready", 0.0),
        (2, "not_ready", 0.0),  # `retries`: another worker might have room
    ]
    assert "No space left on device" in fleet.lines[0]["error"]
    assert list(disk.with_name("disk.kept").glob("code-commit-*")) == []


@pytest.mark.parametrize(
    ("size", "began"),
    [("8k", False), ("24k", True)],
    ids=["no-room-for-the-plan", "no-room-for-a-result"],
)
def test_a_driver_with_a_full_disk_ends_at_once_and_says_so_last(fleet, size, began):
    fleet.repositories("one")
    fleet.write("one", head="max_cost = 4.0\nunit_max_cost = 1.0")
    fleet.server.script(fleet.good, fleet.good)
    folder = fleet.folder / "fleet.fleet"
    code, events, stderr = run_with_disk(fleet, folder, size)
    assert (code, events[-1]["kind"], events[-1]["data"]["exit_code"]) == (
        3,
        "fleet.finished",
        3,
    ), stderr
    assert [event["kind"] for event in events].count("fleet.finished") == 1
    assert "fleet.fleet" in events[-1]["data"]["summary"]
    assert "cannot be written: No space left on device" in stderr
    assert bool(fleet.server.requests) == began
    # With room again, a try that began counts as lost, at what was reserved for it.
    shutil.rmtree(folder)
    folder.with_name("fleet.fleet.kept").rename(folder)
    assert fleet.run().exit_code == 0
    endings = [(row["outcome"], row["cost"] == 1.0) for row in fleet.lines]
    assert endings == [*([("lost", True)] if began else []), ("reached", False)]


def test_a_worker_with_a_full_disk_does_not_fail_the_units_of_the_others(tmp_path):
    """It fails fast, so it would get most of them."""
    workers = []

    class OneIsFull:
        def __init__(self):
            self.ended = []

        def slots(self):
            return {"full": 1, "good": 1}

        def start(self, key, _order, worker):
            workers.append(worker)
            self.ended.insert(0 if worker == "full" else 9, Ended(key, worker.encode()))

        def wait(self, _seconds):
            return [self.ended.pop(0)]

    def take(unit, number, data, _reserved):
        full = data == b"full"
        outcome, error = ("not_ready", "x: No space left on device") if full else ("reached", "")
        return Tried(unit.unit, unit.repository, unit.model, number, outcome, cost=0.0, error=error)

    folder = FleetFolder(tmp_path / "fleet.toml")
    folder.path.mkdir()
    limits = Limits(None, None, 1, {}, 600, 600, 600)
    report = order = lambda *_: {}
    driver = Driver(OneIsFull(), folder, limits, order=order, take=take, report=report)
    driver.run(Unit(f"u{n}", f"r{n}", "m", "p", "/r", "", "", "q", "", "b") for n in range(6))
    assert workers.count("full") == 1
    assert {name: tried.outcome for name, tried in latest(folder.tries()).items()} == {
        f"u{n}": "reached" for n in range(6)
    }


@pytest.mark.slow
def test_random_kills_lose_and_double_nothing(fleet):
    """Workers and the scheduler are killed at random moments, ten times in one fleet."""
    names = [f"r{number}" for number in range(6)]
    fleet.repositories(*names)
    fleet.write(
        *names, head="retries = 100\nmax_cost = 30.0\nunit_max_cost = 0.5\nscheduler_wait = 60"
    )
    begun = threading.Event()

    def answer(_request) -> Reply:
        begun.set()
        return Reply(text="^^^a.txt\nnew\n^^^end\n", delay=2, usage=Usage(1000, 100))

    fleet.server.script(*[answer] * 200)
    chance = random.Random(7)  # noqa: S311 - not a secret
    with fleet.Cluster(
        fleet.folder / "cluster", fleet.home.environment(fleet.environment())
    ) as cluster:
        for _ in range(3):
            cluster.start_worker(1)
        over = threading.Event()

        def kill() -> None:
            begun.wait()
            for number in range(10):
                if over.wait(chance.uniform(0.2, 3)):
                    return
                if number % 4 == 3:
                    port = cluster.port
                    cluster.scheduler.kill()
                    cluster.scheduler.wait()
                    cluster.start_scheduler(port)
                    for _ in range(2):
                        cluster.start_worker(1)
                else:
                    chance.choice(cluster.workers).kill()
                cluster.start_worker(1)

        killer = threading.Thread(target=kill)
        killer.start()
        finished = fleet.run("--scheduler", cluster.address, "--insecure", timeout=240)
        over.set()
        begun.set()
        killer.join()
    for pid in fleet.processes():  # units of killed workers
        with suppress(ProcessLookupError):
            assert select.select([os.pidfd_open(pid)], [], [], 60)[0], pid
    assert finished.exit_code == 0, (finished.stderr, fleet.lines)
    reached = [row["repository"] for row in fleet.lines if row["outcome"] == "reached"]
    assert sorted(reached) == names
    tries = [(row["unit"], row["try"]) for row in fleet.lines]
    began = (fleet.folder / "fleet.fleet/tries.jsonl").read_text().splitlines()
    assert sorted(tries) == sorted((row["unit"], row["try"]) for row in map(json.loads, began))
    assert {row["cost"] for row in fleet.lines if row["outcome"] == "lost"} == {0.5}
    assert len(fleet.server.requests) * PRICE <= sum(row["cost"] for row in fleet.lines) <= 30.0
