"""The server of `warm_start`: import what commands need, and fork for each request.

A fork shares the imported modules and nothing else: it sets up the rest as the interpreter does at
its start.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import marshal
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

# Imported inside of functions, or by the plugins of tests.
_LATE = """
_strptime ctypes anyio certifi deno difflib encodings.ascii encodings.idna encodings.utf_16_be
encodings.utf_16_le genai_prices.data genai_prices.decompose genai_prices.validation httpcore
importlib.resources.readers jsonschema.validators packaging.requirements packaging.tags pathspec
platformdirs pprint pygments.lexers.special tomllib code_commit_testing.scaffold
code_commit_testing.loopback_provider code_commit_testing.scripted_provider
"""
_GROUPS = ("code_commit", "code_commit.path_rules")
_OF_INTERPRETER = {"sitecustomize", "usercustomize"}


def main() -> None:
    """Serve the socket whose descriptor is the first argument, until the standard input closes.

    The other arguments are libraries that a fork must import itself.
    """
    descriptor, *left_out = sys.argv[1:]
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # Ctrl-C is for the forks
    preload(left_out)
    with socket.socket(fileno=int(descriptor)) as listener:
        connection = serve(listener)
    _, streams, *_ = socket.recv_fds(connection, 1, 3)
    with connection, connection.makefile("rb") as request:
        command, folder, environ = marshal.loads(request.read())  # noqa: S302 - our own
    become(command, folder, environ, streams)
    run(command[3])


def preload(left_out: Sequence[str]) -> None:
    """Import the host, the plugins and what they import later, but for some libraries."""
    sys.modules.update(dict.fromkeys(left_out))  # type: ignore[arg-type] # their imports fail
    entries = [entry for group in _GROUPS for entry in entry_points(group=group)]
    plugins = {entry.module.partition(".")[0] for entry in entries} - {__package__}
    for package in ("code_commit_workspace", "code_commit", *sorted(plugins)):
        path = getattr(_import(package), "__path__", ())
        for module in pkgutil.walk_packages(path, f"{package}.", onerror=lambda _name: None):
            if not module.name.endswith(".__main__"):
                _import(module.name)
    for name in _LATE.split():
        _import(name)
    for name in left_out:
        del sys.modules[name]
    if api := _import("code_commit.plugin_api"):
        api.cost_of("", api.Usage(0, 0))  # loads the list of prices
    # Only a loss of power would show these. Waiting for the disk is half of a short run's time.
    os.fsync = _no_flush
    if disk := _import("code_commit_workspace.move.disk"):
        disk.flush_file_system = _no_flush  # type: ignore[attr-defined]
    tempfile.tempdir = None  # each fork has its own
    sys.path_importer_cache.clear()  # each fork would mark its entries as old, and copy their pages
    gc.collect()
    gc.freeze()


def _no_flush(fd: Any) -> None:
    pass


def _import(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit):  # noqa: BLE001 - the run that needs it will report it
        return None


def serve(listener: socket.socket) -> socket.socket:
    """Fork for each connection. Only the forks return, each with its connection."""
    # The pid, pidfd and connection of each fork: once by its pidfd, once by its connection.
    forks: dict[int, tuple[int, int, int]] = {}
    events = select.poll()
    events.register(0, select.POLLIN)
    events.register(listener, select.POLLIN)
    while True:
        for number, _event in events.poll():
            if number == 0:
                sys.exit()  # the test process has ended
            elif number == listener.fileno():
                connection = listener.accept()[0].detach()
                pid = os.fork()
                if not pid:
                    for descriptor in forks:
                        os.close(descriptor)
                    return socket.socket(fileno=connection)
                _report(connection, pid)
                pidfd = os.pidfd_open(pid)
                forks[pidfd] = forks[connection] = pid, pidfd, connection
                events.register(pidfd, select.POLLIN)
                events.register(connection, 0)  # its end
            elif number in forks:
                pid, pidfd, connection = forks[number]
                os.kill(pid, signal.SIGKILL)  # does nothing to a process that has ended
                _report(connection, os.waitpid(pid, 0)[1])
                for descriptor in (pidfd, connection):
                    del forks[descriptor]
                    events.unregister(descriptor)
                    os.close(descriptor)


def _report(connection: int, number: int) -> None:
    """Send `number` to the client: the process id of its fork, and later the wait status."""
    with suppress(BrokenPipeError):
        os.write(connection, number.to_bytes(4, "little"))


def become(command: list[str], folder: str, environ: dict[str, str], streams: list[int]) -> None:
    """Set up this process like a new interpreter for `command`."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    names = filter(None, environ.get("PYTHONPATH", "").split(os.pathsep))
    folders = list(dict.fromkeys(map(os.path.abspath, names)))
    if any(map(_hides_modules, folders)):
        os.execv(sys.executable, [sys.executable, *command[1:]])  # noqa: S606 - no shell wanted
    sys.path[:0] = folders
    importlib.invalidate_caches()
    sys.executable = command[0]
    sys.orig_argv[:] = command
    sys.argv[:] = ["-m", *command[4:]]
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        earlier = getattr(sys, name)
        by_line = 1 if name == "stderr" else -1  # as the interpreter does: -1 asks the descriptor
        reopened = open(  # noqa: SIM115 - for good
            number, mode, by_line, earlier.encoding, earlier.errors, "\n", closefd=False
        )
        setattr(sys, name, reopened)
        setattr(sys, f"__{name}__", reopened)


def _hides_modules(folder: str) -> bool:
    """Return whether an import would find something else than this process has imported."""
    try:
        names = {name.partition(".")[0] for name in os.listdir(folder)}  # noqa: PTH208 - names alone
    except OSError:
        return True  # missing, or an archive
    return any(name in sys.modules or name in _OF_INTERPRETER for name in names)


def run(module: str) -> None:
    """Run `module` as `python -m` does, and exit."""
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if not isinstance(end.code, int):
            raise
        # Taking all modules apart, as the interpreter does, would cost more than imports do.
        threading._shutdown()  # type: ignore[attr-defined] # noqa: SLF001
        atexit._run_exitfuncs()  # noqa: SLF001
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(end.code & 0xFF)


if __name__ == "__main__":
    main()
