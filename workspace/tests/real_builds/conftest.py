"""Real build tools in the sandbox: with cold caches, then offline with the private caches that the
first build left.

Nothing is taken from the network: packages come from a registry on this machine or from folders. A
tool that is not installed is skipped by name.
"""

from __future__ import annotations

import os
import pwd
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Protocol

import pytest

from code_commit_workspace.records import ProcessResult

_TOOLS = (
    "npm_",
    "pnpm_",
    "yarn_",
    "pip_",
    "uv_",
    "cargo_",
    "rust",
    "go",
    "maven_",
    "gradle_",
    "java_",
    "ccache_",
    "tox_",
)


class Registry:
    """A package registry on this machine: what it serves, and what was asked for."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.pages: dict[str, tuple[str, bytes]] = {}
        self.asked: list[str] = []

    def add(self, path: str, content: str | bytes, kind: str = "application/octet-stream") -> None:
        self.pages[path] = (kind, content.encode() if isinstance(content, str) else content)


@pytest.fixture
def registry() -> Iterator[Registry]:
    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._head()

        def do_GET(self) -> None:
            served.asked.append(self.path)
            self.wfile.write(self._head())

        def _head(self) -> bytes:
            kind, content = served.pages.get(self.path, ("text/plain", b""))
            self.send_response(200 if self.path in served.pages else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Cache-Control", "max-age=365000000, immutable")
            self.end_headers()
            return content

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        served = Registry(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield served
        server.shutdown()
        thread.join()


class Build(Protocol):
    """Run a script with cold caches; then another, offline, with those that the first one left."""

    def __call__(self, cold: str, warm: str, *, network: bool = False) -> tuple[str, str]: ...


@pytest.fixture
def write(sandbox_project: Path) -> Callable[[dict[str, str]], None]:
    def write(files: dict[str, str]) -> None:
        for name, text in files.items():
            (sandbox_project / name).parent.mkdir(parents=True, exist_ok=True)
            (sandbox_project / name).write_text(text)

    return write


@pytest.fixture
def build(
    sandboxed: Callable[..., ProcessResult], sandbox_home: Path, monkeypatch: pytest.MonkeyPatch
) -> Build:
    account = pwd.getpwuid(os.getuid()).pw_dir
    toolchains = os.environ.get("RUSTUP_HOME", f"{account}/.rustup")
    for name in [variable for variable in os.environ if variable.lower().startswith(_TOOLS)]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("RUSTUP_HOME", toolchains)

    def build(cold: str, warm: str, *, network: bool = False) -> tuple[str, str]:
        before = _listing(sandbox_home)
        outputs = []
        for script, settings in ((cold, {}), (warm, {"network": network})):
            result = sandboxed(f"set -e\n{script}", **settings)
            output = result.output.decode("utf-8", "replace")
            assert (result.exit_code, result.tampered) == (0, ()), output
            outputs.append(output)
        assert _listing(sandbox_home) == before
        return outputs[0], outputs[1]

    return build


def _listing(home: Path) -> dict[str, tuple[int, int]]:
    """Return what is in the home folder, but for the project and the private folders."""
    states = {}
    for top, folders, files in os.walk(home):
        folders[:] = [
            folder
            for folder in folders
            if Path(top, folder) not in {home / "src", home / ".cache/code-commit"}
        ]
        for name in (*folders, *files):
            status = Path(top, name).lstat()
            states[str(Path(top, name))] = (
                status.st_size,
                status.st_mtime_ns if name != ".cache" else 0,
            )
    return states


@pytest.fixture
def cache(sandbox_home: Path) -> Callable[[str], bool]:
    """Whether something is at a place of the private cache."""
    return lambda pattern: any(sandbox_home.glob(f".cache/code-commit/sandbox/*/cache/{pattern}"))


@pytest.fixture
def need() -> Callable[..., None]:
    """Skip the test if one of the programs does not run."""

    def need(*commands: str) -> None:
        for command in commands:
            try:
                works = (
                    subprocess.run(
                        [command, "--version"], capture_output=True, check=False
                    ).returncode
                    == 0
                )
            except OSError:
                works = False
            if not works:
                pytest.skip(f"{command} is not installed")

    return need
