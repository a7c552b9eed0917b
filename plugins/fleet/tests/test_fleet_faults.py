"""Faults on a worker: each is bounded and told, and a unit beside it is not harmed."""

from __future__ import annotations

import random
import socket
import threading

import pytest

from code_commit_testing import Reply


def test_a_unit_that_never_ends_times_out_and_may_have_cost_all(fleet):
    fleet.repositories("one", "two")
    fleet.write("one", "two", head="unit_timeout = 20\nmax_cost = 4.0\nunit_max_cost = 1.0")
    fleet.server.script(fleet.good, Reply(fault="hang"))
    assert fleet.run("--workers", "2").exit_code == 1
    rows = {row["outcome"]: row for row in fleet.lines}
    assert set(rows) == {"reached", "timeout"}
    assert rows["timeout"]["cost"] == 1.0
    assert rows["reached"]["cost"] < 1.0
    assert rows["timeout"]["seconds"] < 40


def test_a_clone_that_hangs_ends_at_its_time_limit(fleet):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        fleet.write(f"http://127.0.0.1:{silent.getsockname()[1]}/x.git", head="clone_timeout = 1")
        assert fleet.run().exit_code == 1
    row = fleet.lines[0]
    assert (row["outcome"], row["cost"]) == ("not_ready", 0.0)
    assert "within 1 seconds" in row["error"]


def test_a_worker_without_room_tells_so(fleet):
    fleet.repositories("one")
    fleet.write("one")
    (fleet.folder / "file").touch()
    assert fleet.run(TMPDIR=str(fleet.folder / "file/below")).exit_code in {1, 3}


@pytest.mark.slow
def test_random_kills_lose_and_double_nothing(fleet):
    """Workers and the scheduler are killed at random moments, ten times in one fleet."""
    names = [f"r{number}" for number in range(6)]
    fleet.repositories(*names)
    fleet.write(*names, head="retries = 100\nmax_cost = 30.0\nunit_max_cost = 0.5\nscheduler_wait = 60")
    fleet.server.script(*[Reply(text="^^^a.txt\nnew\n^^^end\n", delay=0.5)] * 200)
    chance = random.Random(7)  # noqa: S311 - not a secret
    with fleet.Cluster(fleet.folder / "cluster", fleet.home.environment(fleet.environment())) as cluster:
        for _ in range(3):
            cluster.start_worker(1)
        over = threading.Event()

        def kill() -> None:
            for number in range(10):
                if over.wait(chance.uniform(0.5, 4)):
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
        done = fleet.run("--scheduler", cluster.address, "--insecure", timeout=240)
        over.set()
        killer.join()
    assert done.exit_code == 0, (done.stderr, fleet.lines)
    reached = [row["repository"] for row in fleet.lines if row["outcome"] == "reached"]
    assert sorted(reached) == names
    tries = [(row["unit"], row["try"]) for row in fleet.lines]
    assert len(set(tries)) == len(tries)
    assert sum(row["cost"] for row in fleet.lines) <= 30.0
