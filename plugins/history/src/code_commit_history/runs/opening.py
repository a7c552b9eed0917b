"""`code-commit runs open`: make the page of a run, and show it in the browser."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any

from code_commit.plugin_api import ExitCode, Host, NotReady, find_run, installation
from code_commit_history.runs.exporting import SINKS, current_records, send
from code_commit_workspace import find_program

# Each opens a file with the program of the desktop.
_OPENERS = ("xdg-open", "open", "wslview")
_PLUGIN = "html"
_OWNER = "code-commit-report"


def open_page(host: Host, arguments: argparse.Namespace) -> int:
    """Make the page of a run, print its path, and open it if a person is there.

    With `--all`, open the list of all runs.

    Raises:
        NotReady: there is no such run, or no plugin makes pages, or the page cannot be made.
    """
    folder = find_run(host.root, arguments.run)
    sink = _page_sink(host, arguments.sink)
    error = send(sink, current_records(host, folder), end="next_run")
    error = error or send(sink, [], end="close")
    if error:
        raise NotReady(f"the log sink {arguments.sink} failed for {folder.name}: {error}")
    place = folder / sink.page
    if arguments.all:
        place = folder.parent / sink.index
    if arguments.json:
        host.out.document({"run": folder.name, "page": str(place)})
        return ExitCode.REACHED
    host.out.line(str(place.relative_to(host.root)))
    if not arguments.no_browser and sys.stdout.isatty():
        _open(host, place)
    return ExitCode.REACHED


def _page_sink(host: Host, name: str) -> Any:
    """Return a sink that has the names `page`, of a file in the folder of each run, and `index`.

    Raises:
        NotReady: there is none.
    """
    if name == _PLUGIN and name not in [plugin.name for plugin in host.plugins]:
        raise NotReady("no plugin makes pages of runs", hint=installation(_OWNER))
    for _, sink in host.collect(SINKS, plugin=name):
        if hasattr(sink, "page") and hasattr(sink, "index"):
            return sink
    raise NotReady(f"the plugin {name} makes no pages of runs")


def _open(host: Host, place: Path) -> None:
    """Open a file; what the program prints is not ours, and nobody waits for its end."""
    for name in _OPENERS:
        if program := find_program(name, host.root):
            break
    else:
        host.out.note("hint: open it in a browser: no program for that was found on PATH")
        return
    subprocess.Popen(
        [program, str(place)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
