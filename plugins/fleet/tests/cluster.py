"""A Dask cluster of separate processes on loopback, started by Dask's own commands."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

FAST = {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False", "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__DISK": "False"}


class Cluster:
    """A scheduler and workers. With `tls`, a folder with `ca.pem`, `cert.pem` and `key.pem`, they speak TLS."""

    def __init__(self, folder: Path, environ: dict[str, str], *, tls: Path | None = None):
        self.folder, self.environ, self.tls = folder, {**environ, **FAST}, tls
        self.workers: list[subprocess.Popen] = []
        self.through = ""  # the address of a proxy
        folder.mkdir(exist_ok=True)
        self.start_scheduler()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()

    def start_scheduler(self, port: int = 0) -> None:
        file = self.folder / "scheduler.json"
        file.unlink(missing_ok=True)
        where = ("--host", "127.0.0.1", "--port", str(port), "--no-dashboard", "--scheduler-file", str(file))
        protocol = ("--protocol", "tls") if self.tls else ()
        self.scheduler = self._start("distributed.cli.dask_scheduler", *where, *protocol)
        while True:
            assert self.scheduler.poll() is None, self.log
            with suppress(OSError, ValueError, KeyError):
                self.address = json.loads(file.read_text())["address"]
                with socket.create_connection(("127.0.0.1", self.port)):
                    return
            time.sleep(0.05)

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def start_worker(self, threads: int = 2, **environ: str) -> subprocess.Popen:
        where = (self.through or self.address, "--host", "127.0.0.1", "--nthreads", str(threads))
        started = self._start("distributed.cli.dask_worker", *where, "--no-dashboard", "--no-nanny", **environ)
        self.workers.append(started)
        return started

    def _start(self, module: str, *arguments: str, **environ: str) -> subprocess.Popen:
        if self.tls:
            files = {"--tls-ca-file": "ca.pem", "--tls-cert": "cert.pem", "--tls-key": "key.pem"}
            arguments = (*arguments, *(word for flag, name in files.items() for word in (flag, str(self.tls / name))))
        with (self.folder / "log").open("ab") as log:
            command = [sys.executable, "-m", module, *arguments]
            env = {**self.environ, **environ}
            return subprocess.Popen(command, env=env, cwd=self.folder, stdout=log, stderr=log)


class Recorder:
    """Passes connections on to an address, and records every byte."""

    def __init__(self, port: int):
        self.bytes = bytearray()
        self._to = port
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near = self._server.accept()[0]
                try:
                    far = socket.create_connection(("127.0.0.1", self._to))
                except OSError:
                    near.close()
                    continue
                for source, target in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=(source, target), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self.bytes += data
                target.sendall(data)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        source.close()

    def close(self) -> None:
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)  # wakes the thread
        self._server.close()


def make_certificates(folder: Path) -> Path:
    """Make a certificate that signs itself, for everybody in the cluster."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
    ]
    names = ["-subj", "/CN=cluster", "-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run([*command, *names], check=True, capture_output=True)
    (folder / "ca.pem").write_bytes((folder / "cert.pem").read_bytes())
    return folder
