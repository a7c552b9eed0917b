"""`fleet run --scheduler` on a cluster of separate processes: traffic, TLS, lost workers and
schedulers.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from types import SimpleNamespace
from typing import Any

import pytest

from code_commit.plugin_api import NotReady
from code_commit_fleet import versions
from code_commit_fleet.cluster import DaskCluster, remote_cluster
from code_commit_testing import Reply

OURS = versions.ours()
BUILD_OF_AN_ATTACKER = """\
cat {key} && exit 10
python3 - <<'CODE' || exit 11
import socket, ssl, sys
context = ssl._create_unverified_context()
try:
    with context.wrap_socket(socket.create_connection(("127.0.0.1", {port}), 5)) as connection:
        connection.settimeout(5)
        connection.sendall(bytes(64))
        sys.exit(1 if connection.recv(1) else 0)
except OSError:
    sys.exit(0)
CODE
grep -q new a.txt
"""


def started(fleet, *arguments, **environ):
    return fleet.home.start(
        "fleet",
        "run",
        "fleet.toml",
        "--json",
        *arguments,
        environ=fleet.environment(**environ),
        cwd=fleet.folder,
    )


def wait_for_calls(fleet, count, process):
    while len(fleet.server.requests) < count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


def test_a_lost_worker_and_a_lost_scheduler_lose_no_unit_and_no_key_travels(fleet):
    """The quick representative of the test with random moments."""
    fleet.repositories("one", "two")
    fleet.write("one", "two", head="retries = 2\nmax_cost = 6.0\nunit_max_cost = 1.0")
    # The call of the first try ends with its worker, which runs both units; that of the second with
    # the scheduler.
    fleet.server.script(*[Reply(fault="hang")] * 4, fleet.good, fleet.good)
    with fleet.Cluster(
        fleet.folder / "cluster", fleet.home.environment(fleet.environment())
    ) as cluster:
        recorder = fleet.Recorder(cluster.port)
        cluster.through = recorder.address
        first = cluster.start_worker()
        no_key = {"OPENAI_API_KEY": ""}  # the key is on the worker alone
        with started(fleet, "--scheduler", recorder.address, "--insecure", **no_key) as process:
            wait_for_calls(fleet, 2, process)
            first.kill()
            cluster.start_worker()  # a machine that comes late
            wait_for_calls(fleet, 4, process)
            port = cluster.port
            cluster.scheduler.kill()
            cluster.scheduler.wait()
            cluster.start_scheduler(port)
            cluster.start_worker()
            stdout, stderr = process.communicate(timeout=240)
        recorder.close()
    assert process.returncode == 0, (stderr, cluster.log)
    assert [(row["try"], row["outcome"]) for row in fleet.lines].count((3, "reached")) == 2
    lost = [row for row in fleet.lines if row["outcome"] == "lost"]
    assert {row["error"] for row in lost} == {"its worker was lost", "the scheduler was lost"}
    assert {row["cost"] for row in lost} == {1.0}
    assert len(lost) == 4
    assert b"Make a.txt new." in recorder.bytes
    assert fleet.KEY.encode() not in recorder.bytes
    assert fleet.KEY not in cluster.log
    assert json.loads(stdout.splitlines()[-1])["kind"] == "fleet.finished"


@pytest.mark.usefixtures("bubblewrap")
def test_a_build_reaches_neither_the_key_of_the_cluster_nor_its_port(fleet):
    if not shutil.which("openssl"):
        pytest.skip("needs openssl, for certificates")
    tls = fleet.make_certificates(fleet.home.home / ".config/code-commit/tls")
    names = {"CA_FILE": "ca.pem", "CLIENT__KEY": "key.pem", "CLIENT__CERT": "cert.pem"}
    client = {
        f"DASK_DISTRIBUTED__COMM__TLS__{name}": str(tls / file) for name, file in names.items()
    }
    with fleet.Cluster(
        fleet.folder / "cluster", fleet.home.environment(fleet.environment()), tls=tls
    ) as cluster:
        cluster.start_worker(1)
        one = fleet.repositories("one")[0]
        (one / "build.sh").write_text(
            BUILD_OF_AN_ATTACKER.format(key=tls / "key.pem", port=cluster.port)
        )
        fleet.commit(one)
        fleet.write("one")
        fleet.server.script(fleet.good)
        finished = fleet.run("--scheduler", cluster.address, cold=True, **client)
    assert finished.exit_code == 0, (finished.stdout, finished.stderr, cluster.log)
    assert fleet.outcomes() == {"one": "reached"}


def test_a_result_that_is_lost_with_its_worker_is_not_waited_for(fleet):
    with fleet.Cluster(
        fleet.folder / "cluster", fleet.home.environment(fleet.environment())
    ) as running:
        process = running.start_worker(1)
        with remote_cluster(running.address, wait=60, insecure=True, report=print) as cluster:
            cluster._client.wait_for_workers(1, timeout=60)
            (worker,) = cluster.slots()
            # Ends at once: the rest of the order is missing.
            cluster.start("x-1", {"unit": "x", "try": 1}, worker)
            cluster._ended.put(cluster._ended.get(timeout=60))
            process.kill()
            process.wait()
            began = time.monotonic()
            (ended,) = cluster.wait(60)
    assert (ended.key, ended.data) == ("x-1", None)
    assert "its worker was lost" in ended.error
    assert time.monotonic() - began < 100  # Dask would wait for 300 seconds


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("tcp://127.0.0.1:1", "--insecure"),
        ("tls://127.0.0.1:1", "the scheduler tls://127.0.0.1:1 cannot be reached: "),
    ],
    ids=["no TLS", "no certificate"],
)
def test_a_scheduler_without_tls_is_refused(fleet, address, message):
    fleet.repositories("one")
    fleet.write("one")
    finished = fleet.run("--scheduler", address)
    assert (finished.exit_code, message in finished.stderr) == (3, True), finished.stderr


def test_a_scheduler_without_workers_or_with_other_versions_runs_nothing(fleet, monkeypatch):
    fleet.repositories("one")
    fleet.write("one", head="scheduler_wait = 0")
    with fleet.Cluster(
        fleet.folder / "cluster", fleet.home.environment(fleet.environment())
    ) as running:
        finished = fleet.run("--scheduler", running.address, "--insecure")
        monkeypatch.setattr(versions, "ours", lambda: {**OURS, "cloudpickle": "0.1"})
        with (
            pytest.raises(
                NotReady,
                match=r"the versions of the scheduler differ: cloudpickle \S+ instead of 0\.1$",
            ),
            remote_cluster(running.address, wait=0, insecure=True, report=print),
        ):
            pass
    assert (finished.exit_code, fleet.server.requests) == (3, [])
    assert "no worker was available for 0 seconds; 0 of 1 unit reached" in finished.stderr


def test_a_scheduler_that_does_not_come_back_ends_the_wait():
    def client(status: str) -> Any:
        return SimpleNamespace(
            status=status,
            nthreads=lambda: {"tcp://w": 1},
            run=lambda *_, **__: {"tcp://w": OURS},
            close=lambda **_: None,
        )

    answers = iter([OSError("refused"), client("running")])

    def connect(_seconds: float) -> Any:
        if isinstance(answer := next(answers), OSError):
            raise answer
        return answer

    messages: list[str] = []
    cluster = DaskCluster(
        client("closed"), local=False, connect=connect, wait=0, report=messages.append
    )
    with pytest.raises(NotReady, match="the scheduler was lost and did not come back: refused"):
        cluster.slots()
    assert messages == ["warning: the scheduler was lost; trying to reconnect for 0 seconds"]


def test_units_end_with_their_driver(fleet):
    fleet.repositories("one")
    fleet.write("one")
    fleet.server.script(Reply(fault="hang"), fleet.good)
    with started(fleet) as process:
        wait_for_calls(fleet, 1, process)
        process.kill()
    while (
        subprocess.run(
            ["pgrep", "-f", str(fleet.tmp)], stdout=subprocess.DEVNULL, check=False
        ).returncode
        == 0
    ):
        time.sleep(0.05)
    assert fleet.run().exit_code == 0
    assert [(row["try"], row["outcome"]) for row in fleet.lines] == [(1, "lost"), (2, "reached")]
    assert process.returncode == -signal.SIGKILL
