"""Send units to the workers of Dask, and receive their results.

If a worker is lost, Dask silently runs its tasks again, and you would pay twice. So each try is
pinned to one worker and has its own key, and the driver monitors the workers itself.
"""

from __future__ import annotations

import json
import logging
import queue
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import dask
from distributed import Client, Future, LocalCluster, Security

from code_commit.plugin_api import NotReady
from code_commit_fleet import unit, versions
from code_commit_fleet.driver import Ended

_LOCAL = {
    "distributed.worker.memory.target": False,  # results are bytes that the driver takes at once
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.admin.system-monitor.disk": False,
    # Nobody looks at it; with the ticks, it took 7% of a core.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
}
_EVERYWHERE = {
    "distributed.comm.timeouts.connect": "10s",
    "distributed.comm.retry.count": 0,
    "distributed.client.scheduler-info-interval": "10s",
}
_LOOK = 0.4  # seconds between checks of the workers
_FETCH = 300  # seconds to transfer a result
_SCHEDULER_LOST = "the scheduler was lost"
_FAULTS = (OSError, TimeoutError, RuntimeError)  # what a client raises when the scheduler is gone


@contextmanager
def local_cluster(slots: int) -> Iterator[DaskCluster]:
    """Yield a cluster in this process, with a thread per slot.

    Nobody else can reach it: it has no port for units.

    Dask also opens two ports for its web pages. They are on loopback, and serve no pages.
    """
    _quiet()
    with (
        tempfile.TemporaryDirectory(prefix="code-commit-fleet-dask-") as scratch,
        dask.config.set(_LOCAL | _EVERYWHERE | {"temporary-directory": scratch}),
        LocalCluster(
            n_workers=1,
            threads_per_worker=slots,
            processes=False,
            protocol="inproc://",
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield DaskCluster(client, local=True, connect=lambda _: client)


@contextmanager
def remote_cluster(
    address: str,
    *,
    wait: float,
    insecure: bool,
    report: Callable[[str], None],
) -> Iterator[DaskCluster]:
    """Yield the cluster of the scheduler at `address`.

    If it is lost, try to reconnect for up to `wait` seconds.

    `report` gets lines for people.

    Raises:
        NotReady: the connection is not secure, the scheduler cannot be reached, or its versions
            differ.
    """
    if not address.startswith("tls://") and not insecure:
        raise NotReady(
            f"{address} is not encrypted: whoever reaches it can run programs on the workers",
            hint="use tls://, or accept that with --insecure",
        )
    _quiet()

    def connect(seconds: float) -> Client:
        security = Security(require_encryption=True) if address.startswith("tls://") else None
        return Client(address, security=security, timeout=seconds, set_as_default=False)

    with dask.config.set(_EVERYWHERE):
        try:
            client = connect(30)
        except (*_FAULTS, ValueError, TypeError) as error:
            raise NotReady(f"the scheduler {address} cannot be reached: {error}") from None
        cluster = DaskCluster(client, local=False, connect=connect, wait=wait, report=report)
        try:
            if differences := versions.differences_of_scheduler(client):
                raise NotReady(
                    f"the versions of the scheduler differ: {', '.join(differences)}",
                    hint="install the same versions on all machines",
                )
            yield cluster
        finally:
            cluster.close()


def _quiet() -> None:
    """Keep Dask from writing to the terminal: the fleet reports what matters."""
    for name in ("distributed", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in {"distributed", "tornado", "asyncio"}:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


class DaskCluster:
    """Implements `driver.Cluster`.

    `connect` creates a new client after the scheduler was lost; a local one stays.
    """

    def __init__(
        self,
        client: Client,
        *,
        local: bool,
        connect: Callable[[float], Client],
        wait: float = 0,
        report: Callable[[str], None] = print,
    ) -> None:
        self._client = client
        self._local: Mapping[str, int] | None = dict(client.nthreads()) if local else None
        self._connect = connect
        self._wait = wait
        self._report = report
        self._futures: dict[str, tuple[Future[bytes], str]] = {}
        self._ended: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._seen: dict[str, int] = {}
        self._refused: set[str] = set()
        self._looked = 0.0
        self._lost: list[Ended] = []

    def slots(self) -> Mapping[str, int]:
        """Return the slots of the workers that have our versions."""
        if self._local is not None:
            return self._local
        if time.monotonic() - self._looked > _LOOK:
            self._look()
        return self._seen

    def start(self, key: str, order: Mapping[str, object], worker: str) -> None:
        """Start a try on a worker."""
        payload = json.dumps(order).encode()
        try:
            future = self._client.submit(
                unit.run_unit,
                payload,
                key=key,
                workers=[worker],
                allow_other_workers=False,
                pure=False,
                retries=0,
            )
        except _FAULTS as error:
            self._lost.append(Ended(key, None, f"the scheduler was lost: {error}"))
            return
        self._futures[key] = future, worker
        future.add_done_callback(lambda ended: self._ended.put(ended.key))

    def wait(self, seconds: float) -> list[Ended]:
        """Return the tries that ended."""
        ended = self._lost
        self._lost = []
        with suppress(queue.Empty):
            key = self._ended.get(timeout=0 if ended else seconds)
            ended.append(self._result(key))  # one at a time: each may have megabytes
        if self._local is None:
            self.slots()
            orphans = [
                key for key, (_, worker) in self._futures.items() if worker not in self._seen
            ]
            for key in orphans:
                self.forget(key)
                ended.append(Ended(key, None, "its worker was lost"))
            ended += self._lost
            self._lost = []
        return ended

    def forget(self, key: str) -> None:
        """Cancel a try."""
        future, _ = self._futures.pop(key, (None, ""))
        if future is not None:
            with suppress(*_FAULTS):
                future.cancel()

    def stop(self, keys: Iterable[str]) -> None:
        """Ask these tries to end."""
        names = list(keys)
        if self._local is not None:
            unit.stop_units(names)
        else:
            with suppress(*_FAULTS):
                self._client.run(unit.stop_units, names, on_error="ignore")

    def close(self) -> None:
        """Leave the cluster; its workers end the running tries."""
        for key in list(self._futures):
            self.forget(key)
        closing = threading.Thread(target=self._close_client, args=(self._client,), daemon=True)
        closing.start()
        closing.join(10)

    @staticmethod
    def _close_client(client: Client) -> None:
        with suppress(Exception):
            client.close(timeout=5)

    def _result(self, key: str) -> Ended:
        future, worker = self._futures.pop(key, (None, ""))
        if future is None:
            return Ended(key, None, "it was forgotten")
        try:
            data = self._fetch(future, worker)
        except Exception as error:  # noqa: BLE001 - Dask's own, or what a worker raised
            if future.cancelled() and self._local is None:  # not by us
                self._reconnect()
                return Ended(key, None, _SCHEDULER_LOST)
            return Ended(key, None, f"its worker was lost: {type(error).__name__}")
        finally:
            with suppress(*_FAULTS):
                future.release()
        if not isinstance(data, bytes):
            return Ended(key, None, "its result is not bytes")
        return Ended(key, data)

    def _fetch(self, future: Future[bytes], worker: str) -> Any:
        """Fetch a result from its worker.

        Raises:
            Exception: it cannot be fetched. If its worker has left, raise at once: Dask would wait
                for that worker, to run the unit again.
        """
        if self._local is not None:
            return future.result(timeout=_FETCH)
        fetched: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

        def fetch() -> None:
            try:
                fetched.put((future.result(timeout=_FETCH), None))
            except BaseException as error:  # noqa: BLE001 - raised by the other thread
                fetched.put((None, error))

        threading.Thread(target=fetch, daemon=True).start()
        while True:
            try:
                data, error = fetched.get(timeout=_LOOK)
            except queue.Empty:
                if worker not in self._client.nthreads():
                    raise OSError("it left with its result") from None
                continue
            if error is not None:
                raise error
            return data

    def _look(self) -> None:
        """Update the list of workers, and compare the versions of new ones."""
        self._looked = time.monotonic()
        try:
            if self._client.status != "running":
                raise OSError("not connected")
            present = dict(self._client.nthreads())
            new = [worker for worker in present if worker not in {*self._seen, *self._refused}]
            answers: dict[str, Any] = {}
            if new:
                answers = self._client.run(versions.ours, workers=new, on_error="return")
        except (*_FAULTS, ValueError):
            self._reconnect()
            return
        for worker in new:
            if differences := _differences(answers.get(worker)):
                self._refused.add(worker)
                self._report(f"warning: worker {worker} gets no units: {', '.join(differences)}")
        self._seen = {
            worker: count for worker, count in present.items() if worker not in self._refused
        }

    def _reconnect(self) -> None:
        """Record all running tries as lost, and reconnect to the scheduler.

        Raises:
            NotReady: it does not come back in time.
        """
        self._lost += [Ended(key, None, _SCHEDULER_LOST) for key in self._futures]
        self._futures.clear()
        self._seen = {}
        self._report(
            f"warning: the scheduler was lost; trying to reconnect for {self._wait:g} seconds"
        )
        threading.Thread(target=self._close_client, args=(self._client,), daemon=True).start()
        end = time.monotonic() + self._wait
        while True:
            try:
                self._client = self._connect(5)
                self._report("reconnected to the scheduler")
                return
            except (*_FAULTS, ValueError) as again:
                if time.monotonic() > end:
                    raise NotReady(
                        f"the scheduler was lost and did not come back: {again}"
                    ) from None
                time.sleep(0.5)


def _differences(answer: Any) -> list[str]:
    """Return why a worker gets no units: how its versions differ, or what it answered instead."""
    if not isinstance(answer, dict):
        return [f"no code-commit-fleet ({answer})"]
    return versions.differences(answer)
