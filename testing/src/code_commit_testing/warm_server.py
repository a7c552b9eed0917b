"""The server of `warm_start`: import what commands need, and fork for each request.

A fork shares the imported modules and nothing else: it sets up the rest as the interpreter does at
its start.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

_HOST = ("code_commit_workspace", "code_commit")
_GROUPS = ("code_commit", "code_commit.path_rules")
# Imported inside of functions, or by the plugins of tests.
_LATE = (
    *("_strptime", "ctypes"),
    *(
        "anyio",
        "certifi",
        "deno",
        "difflib",
        "encodings.ascii",
        "encodings.idna",
        "encodings.utf_16_be",
    ),
    *(
        "encodings.utf_16_le",
        "genai_prices.data",
        "genai_prices.decompose",
        "genai_prices.validation",
        "httpcore",
    ),
    *(
        "importlib.resources.readers",
        "jsonschema.validators",
        "packaging.requirements",
        "packaging.tags",
        "pathspec",
    ),
    *("platformdirs", "pprint", "pygments.lexers.special", "tomllib"),
    "code_commit_testing.scaffold",
    *("code_commit_testing.loopback_provider", "code_commit_testing.scripted_provider"),
)
_OF_INTERPRETER = {"sitecustomize", "usercustomize"}


def preload(left_out: Sequence[str]) -> None:
    """Import the host, first-party plugins, their libraries but for some, and the modules of other
    entry points.
    """
    for name in left_out:
        sys.modules[name] = None  # type: ignore[assignment] # so that its import fails
    for name in _HOST:
        _import_all(name)
    first_party = _import("code_commit.plugins.first_party")
    for plugin in (plugin for group in _GROUPS for plugin in entry_points(group=group)):
        package = plugin.module.partition(".")[0]
        if (
            first_party
            and plugin.dist
            and plugin.dist.name in first_party.offers()
            and package != __package__
        ):
            _import_all(package)
        else:
            _import(plugin.module)
    for name in _LATE:
        _import(name)
    for name in left_out:
        del sys.modules[name]
    if pages := _import("code_commit_report.page"):
        pages.warm_up()
    tempfile.tempdir = None  # each fork has its own
    _leave_out_flushes()
    sys.path_importer_cache.clear()  # each fork would mark its entries as old, and copy their pages
    gc.collect()
    gc.freeze()


def _leave_out_flushes() -> None:
    """Leave out what only a loss of power would show: waiting for the disk would be half of the
    time of a short run.
    """
    os.fsync = _flushed
    if disk := _import("code_commit_workspace.transaction.disk"):
        disk.flush_file_system = _flushed  # type: ignore[attr-defined]


def _flushed(fd: Any) -> None:
    pass


def _import_all(package: str) -> None:
    """Import the package and its modules."""
    path = getattr(_import(package), "__path__", ())
    for module in pkgutil.walk_packages(path, f"{package}.", onerror=lambda _name: None):
        if not module.name.endswith(".__main__"):
            _import(module.name)


def _import(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except Exception:  # noqa: BLE001 - the run that needs it will report it
        return None


def serve(control: socket.socket) -> tuple[int, list[int]]:
    """Fork for each request.

    Return in the fork, with the descriptors of the request and of the three streams.
    """
    running: dict[int, tuple[int, int]] = {}  # pidfd -> pid, where its wait status is reported
    events = select.poll()
    events.register(control, select.POLLIN)
    while True:
        for ready, _event in events.poll():
            if ready in running:
                events.unregister(ready)
                pid, report = running.pop(ready)
                _report(report, os.waitpid(pid, 0)[1])
                _close(report, ready)
                continue
            message, descriptors, *_ = socket.recv_fds(control, 16, 8)
            if not message:
                sys.exit()  # the test process has ended
            request, report, *streams = descriptors
            pid = os.fork()
            if not pid:
                control.close()
                _close(report, *running, *(report for _pid, report in running.values()))
                return request, streams
            _report(report, pid)
            _close(request, *streams)
            ended = os.pidfd_open(pid)
            running[ended] = pid, report
            events.register(ended, select.POLLIN)


def _report(descriptor: int, number: int) -> None:
    with suppress(BrokenPipeError):
        os.write(descriptor, number.to_bytes(4, "little"))


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def become(
    command: list[str], folder: str, environ: dict[str, str], streams: Sequence[int]
) -> None:
    """Set up this process like a new interpreter for `command`."""
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    _close(*streams)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    folders = [
        *dict.fromkeys(
            map(os.path.abspath, filter(None, environ.get("PYTHONPATH", "").split(os.pathsep)))
        )
    ]
    if not all(map(_has_only_new_modules, folders)):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        os.execv(sys.executable, [sys.executable, *command[1:]])  # noqa: S606 - no shell wanted
    sys.executable = command[0]
    sys.path[:0] = folders
    importlib.invalidate_caches()
    sys.orig_argv[:] = command
    sys.argv[:] = ["-m", *command[4:]]
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = _open(number, getattr(sys, name))
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _has_only_new_modules(folder: str) -> bool:
    try:
        names = {name.partition(".")[0] for name in os.listdir(folder)}  # noqa: PTH208 - names alone
    except OSError:
        return False  # missing, or an archive
    return not any(name in sys.modules or name in _OF_INTERPRETER for name in names)


def _open(number: int, like: Any) -> io.TextIOWrapper:
    """Open a standard stream as the interpreter does."""
    buffer = open(number, "rb" if number == 0 else "wb", closefd=False)  # noqa: SIM115 - a descriptor, for good
    by_line = number == 2 or os.isatty(number)  # noqa: PLR2004
    return io.TextIOWrapper(
        buffer, like.encoding, like.errors, newline="\n", line_buffering=by_line
    )


def run(module: str) -> None:
    """Run `module` as `python -m` does, and exit."""
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if not isinstance(end.code, int):
            raise
        # As the interpreter does, but for taking all modules apart, which would cost more than the
        # imports saved.
        threading._shutdown()  # type: ignore[attr-defined] # noqa: SLF001
        atexit._run_exitfuncs()  # noqa: SLF001
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(end.code & 0xFF)


def main() -> None:
    """Serve the socket whose descriptor is the first argument.

    The others are libraries not to import before.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # Ctrl-C is for the forks
    descriptor, *left_out = sys.argv[1:]
    preload(left_out)
    request, streams = serve(socket.socket(fileno=int(descriptor)))
    with open(request, encoding="utf-8") as file:  # noqa: PTH123 - a descriptor
        file.seek(0)
        given = json.load(file)
    become(given["command"], given["folder"], given["environ"], streams)
    run(given["command"][3])


if __name__ == "__main__":
    main()
