"""Isolate every test: no keys, no settings of the user, no network except loopback."""

from __future__ import annotations

import ipaddress
import os
import shutil
import signal
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

# Tests that a script runs in the background, or `nohup`, ignore these signals, and so do the
# processes that they start.
for _number, _handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)

_SERVICES = ("GEMINI", "GOOGLE_GEMINI", "OPENAI", "ANTHROPIC")
_PREFIXES = ("CODE_COMMIT_", "GIT_", *(f"{service}_" for service in _SERVICES))
_NAMES = {
    "NO_COLOR",
    "FORCE_COLOR",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
}


@pytest.fixture(scope="session")
def _empty_config_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("config")


@pytest.fixture(scope="session")
def _cache_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _plain_environment(
    monkeypatch: pytest.MonkeyPatch, _empty_config_home: Path, _cache_home: Path
) -> None:
    """Remove this machine's settings from this process and those that it starts."""
    for name in os.environ:
        if name.startswith(_PREFIXES) or name in _NAMES:
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(_empty_config_home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(_cache_home))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Test")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "test@example.invalid")


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail a test that connects to another machine: no test may call a real service."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in {socket.AF_INET, socket.AF_INET6} and not _is_loopback(address[0]):
            pytest.fail(f"a test tried to connect to {address[0]}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(scope="session")
def sandbox_fault() -> str:
    """Why bubblewrap does not work here, or an empty text.

    Our sandbox is not asked: its faults must fail tests.
    """
    program = shutil.which("bwrap")
    if program is None:
        return "it is not installed"
    apart = "--unshare-pid --unshare-ipc --cap-drop ALL --die-with-parent"
    mounts = "--ro-bind / / --dev /dev --proc /proc --bind /tmp /var/tmp --tmpfs /tmp"
    for namespace in ("", "--unshare-user"):
        completed = subprocess.run(
            [program, *f"{apart} {namespace} {mounts} -- true".split()],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if completed.returncode == 0:
            return ""
    return completed.stderr.strip()


@pytest.fixture
def bubblewrap(sandbox_fault: str) -> None:
    """Skip the test where bubblewrap does not work."""
    if sandbox_fault:
        pytest.skip(f"needs bubblewrap: {sandbox_fault}")


@cache
def _load_profile() -> None:
    import hypothesis

    # No test asserts a time, and a busy machine is not a failure. In CI, the examples are many and
    # always the same.
    ci = "CI" in os.environ
    hypothesis.settings.register_profile(
        "code-commit",
        deadline=None,
        print_blob=True,
        derandomize=ci,
        max_examples=100 if ci else 30,
        database=None,
    )
    hypothesis.settings.load_profile("code-commit")


def pytest_pycollect_makemodule(module_path: Path) -> None:
    """Load the profile of hypothesis before the first module that uses it.

    Its import takes most of a second.
    """
    if b"hypothesis" in module_path.read_bytes():
        _load_profile()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Unregister the plugin of hypothesis if no test used it: for the summary, it would import it
    after all.
    """
    if "hypothesis" not in sys.modules and (
        plugin := session.config.pluginmanager.get_plugin("hypothesispytest")
    ):
        session.config.pluginmanager.unregister(plugin)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what `fast_rows` says, before pytest selects by marks."""
    for test in items:
        if isinstance(test, pytest.Function) and (mark := test.get_closest_marker("fast_rows")):
            [most] = mark.args
            if max(test.callspec.indices.values()) >= most:
                test.add_marker(pytest.mark.slow)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
