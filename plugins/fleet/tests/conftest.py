"""Small repositories, a scripted service, the command `fleet` on them, and a cluster of Dask's own
commands.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from code_commit_testing import Project, Reply, ScriptedServer
from code_commit_testing.warm_start import warm_python

IDENTITY = {
    f"GIT_{who}_{what}": "test@example.invalid"
    for who in ("AUTHOR", "COMMITTER")
    for what in ("NAME", "EMAIL")
}
KEY = "sk-test-Qk7vT2mWz9XpLr4N"


FAST = {
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__DISK": "False",
}


class Cluster:
    """A scheduler and workers.

    With `tls`, a folder with `ca.pem`, `cert.pem` and `key.pem`, they speak TLS.
    """

    def __init__(self, folder: Path, environ: dict[str, str], *, tls: Path | None = None):
        self.folder = folder
        self.environ = {**environ, **FAST}
        self.tls = tls
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
        where = (
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--no-dashboard",
            "--scheduler-file",
            str(file),
        )
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
        started = self._start(
            "distributed.cli.dask_worker",
            *where,
            "--no-dashboard",
            "--no-nanny",
            "--death-timeout",
            "60",
            **environ,
        )
        self.workers.append(started)
        return started

    def _start(self, module: str, *arguments: str, **environ: str) -> subprocess.Popen:
        if self.tls:
            files = {"--tls-ca-file": "ca.pem", "--tls-cert": "cert.pem", "--tls-key": "key.pem"}
            arguments = (
                *arguments,
                *(word for flag, name in files.items() for word in (flag, str(self.tls / name))),
            )
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
                    threading.Thread(
                        target=self._pass_on, args=(source, target), daemon=True
                    ).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self.bytes += data
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
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
    names = [
        "-subj",
        "/CN=cluster",
        "-keyout",
        str(folder / "key.pem"),
        "-out",
        str(folder / "cert.pem"),
    ]
    subprocess.run([*command, *names], check=True, capture_output=True)
    (folder / "ca.pem").write_bytes((folder / "cert.pem").read_bytes())
    return folder


class Fleet:
    """A folder with repositories and a fleet file. `server` answers every model."""

    python = sys.executable

    def __init__(self, folder: Path, server: ScriptedServer):
        self.home = Project.create(
            folder,
            rollup=None,
            query=None,
            build="grep -q new a.txt || { echo 'error: no new'; exit 1; }\n",
        )
        self.folder = folder
        self.server = server
        self.file = folder / "fleet.toml"

    @staticmethod
    def good(_request=None) -> Reply:
        return Reply(text="^^^a.txt\nnew\n^^^end\n", delay=0)

    @staticmethod
    def bad(_request=None) -> Reply:
        return Reply(text="^^^a.txt\nworse\n^^^end\n", delay=0)

    KEY = KEY

    Cluster, Recorder = Cluster, Recorder
    make_certificates = staticmethod(make_certificates)

    def git(self, repository: Path, *arguments: str) -> str:
        return Project(repository, self.home.home).git(*arguments)

    def commit(self, repository: Path) -> None:
        self.git(repository, "commit", "-aqm", "more")

    def repositories(self, *names: str) -> list[Path]:
        """Make repositories with one file, whose build wants it to be new."""
        for name in names:
            target = self.folder / name
            shutil.copytree(self.home.root, target, symlinks=True)
            Project(target, self.home.home).git("add", "-A")
        return [self.folder / name for name in names]

    def write(self, *names: str, head: str = "", repository: str = "") -> None:
        """Write a fleet file for these repositories."""
        lines = [
            'query = "Make a.txt new."',
            *([] if "models" in head else ['models = ["gpt-4.1"]']),
            "repairs = 0",
            head,
        ]
        lines += [f'[[repository]]\nurl = "{name}"\n{repository}' for name in names]
        self.file.write_text("\n".join(lines))

    def environment(self, **more: str) -> dict[str, str]:
        return {
            **self.server.environment(),
            "OPENAI_API_KEY": KEY,
            "NO_COLOR": "1",
            **IDENTITY,
            "TMPDIR": str(self.tmp),
            **more,
        }

    @property
    def tmp(self) -> Path:
        (self.folder / "tmp").mkdir(exist_ok=True)
        return self.folder / "tmp"

    def command(self, *arguments: str, timeout: float = 120, cold: bool = False, **more: str):
        """Run `code-commit fleet …`. Its units start as it does: warm, or cold."""
        with pytest.MonkeyPatch.context() as patch:
            if not cold:
                patch.setattr(sys, "executable", self.python)
            return self.home.command(
                "fleet",
                *arguments,
                environ=self.environment(**more),
                cwd=self.folder,
                timeout=timeout,
                cold=cold,
            )

    def processes(self) -> list[int]:
        """The processes of this fleet that run, by the folder in their environment."""
        pids = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if f"TMPDIR={self.tmp}".encode() in (process / "environ").read_bytes():
                    pids.append(int(process.name))
        return pids

    def run(self, *arguments: str, **more: str):
        return self.command("run", "fleet.toml", "--json", *arguments, **more)

    @property
    def lines(self) -> list[dict]:
        """The lines of units.jsonl."""
        return [
            json.loads(line)
            for line in (self.folder / "fleet.fleet/units.jsonl").read_text().splitlines()
        ]

    def outcomes(self) -> dict[str, str]:
        return {row["repository"]: row["outcome"] for row in self.lines}


@pytest.fixture
def fleet(tmp_path):
    with ScriptedServer() as server:
        opened = Fleet(tmp_path, server)
        opened.python = warm_python(tmp_path, opened.home.environment())
        yield opened
