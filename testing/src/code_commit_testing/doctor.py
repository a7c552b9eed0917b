"""`code-commit plugins doctor`: examine every plugin, and import everything that it names."""

from __future__ import annotations

import platform
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from code_commit import __version__
from code_commit.cli.host import CommandHost
from code_commit.imports import import_object
from code_commit.plugin_api import ExitCode, count_of, stdout_aside
from code_commit.plugin_api.host import HOST
from code_commit.plugins.discovery import (
    GROUP,
    GROUPS,
    PluginSource,
    discover,
    distributions_naming_host,
    name_of,
    required_hosts,
    unusable_dependents,
    wrong_groups,
)
from code_commit.plugins.host import interrupted_while_loading
from code_commit_testing.examination import Problem, problems
from code_commit_workspace import STOP


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = (
        "Examine every installed plugin: versions, entry points, import times, clashes of names, hooks and the "
        "objects that they name and return. The exit code is 0 if there are no problems, else 1."
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")


def doctor(host: CommandHost, arguments: Namespace) -> int:
    """Print versions, entry points, load times and problems; return 1 if there are problems.

    Raises:
        NotReady: the configuration here cannot be read.
    """
    sources = discover()
    seconds = load_times(sources)
    failures = [
        Problem(each.plugin, each.distribution, each.stage, each.error)
        for each in unusable_dependents()
    ]
    examined = problems(host.registry, host.configuration)
    found = [
        Problem(each.plugin, each.distribution, each.stage, host.out.redacted(each.error))
        for each in [*examined, *failures, *without_plugins()]
    ]
    rows = [
        {
            "name": source.name,
            "distribution": source.distribution,
            "version": source.version,
            "group": source.group,
            "entry_point": source.value,
            "load_ms": round(seconds[source] * 1000, 1),
            "sound": not any(
                (each.plugin, each.distribution) == (source.name, source.distribution)
                for each in found
            ),
        }
        for source in sources
    ]
    if arguments.json:
        versions = {"code-commit": __version__, "python": platform.python_version()}
        host.out.document(
            {"versions": versions, "plugins": rows, "problems": [asdict(each) for each in found]}
        )
    else:
        count = count_of(len(rows), "plugin")
        host.out.line(f"code-commit {__version__}, Python {platform.python_version()}, {count}")
        host.out.table([
            ("  ok" if row["sound"] else "  !!", f"{row['name']}", f"{row['distribution']} {row['version']}",
             f"{row['group']}: {row['entry_point']}", f"{row['load_ms']:.1f} ms")
            for row in rows
        ])  # fmt: skip
        for each in found:
            host.out.line(f"{each.plugin} of {each.distribution}, {each.stage}: {each.error}")
        host.out.line("nothing is wrong" if not found else count_of(len(found), "problem"))
    return ExitCode.NOT_REACHED if found else ExitCode.REACHED


def load_times(sources: Sequence[PluginSource]) -> dict[PluginSource, float]:
    """Import each plugin in the order of a start; return seconds.

    A shared import counts for the first plugin.
    """
    import_object("code_commit.plugin_api")
    seconds = {}
    with stdout_aside():
        for source in sources:
            began = time.perf_counter()
            with STOP.saying(interrupted_while_loading(source)):
                try:
                    import_object(source.value)
                except KeyboardInterrupt:
                    raise interrupted_while_loading(source) from None
                except BaseException:  # noqa: BLE001, S110 - the plugin host tries again and reports it
                    pass
                STOP.check()
            seconds[source] = time.perf_counter() - began
    return seconds


def without_plugins() -> Iterator[Problem]:
    """Find distributions that depend on the host and have neither a plugin nor a program of their
    own.
    """
    for each in distributions_naming_host():
        groups = {entry.group for entry in each.entry_points}
        if any(required_hosts(each)) and not (
            groups & {*GROUPS, "console_scripts"} or wrong_groups(each)
        ):
            error = f"it depends on {HOST} and registers no plugin: its metadata has no entry point group {GROUP}"
            name = name_of(each) or "a distribution without a name"
            yield Problem(name.removeprefix(f"{HOST}-"), name, "entry points", error)
