"""`code-commit plugins doctor`: examine every plugin, and import everything that it names."""

from __future__ import annotations

import platform
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from code_commit import __version__
from code_commit.cli.host import CommandHost
from code_commit.cli.parser import add_json
from code_commit.cli.plugin_examination import Problem, examined_problems
from code_commit.imports import import_object
from code_commit.plugin_api import ExitCode, count_of, stdout_aside
from code_commit.plugin_api.host import HOST
from code_commit.plugins.discovery import GROUP, GROUPS, PluginSource, discover
from code_commit.plugins.distributions import (
    distributions_naming_host,
    faults_of_requirements,
    name_of,
    required_hosts,
    unusable_dependents,
    wrong_groups,
)
from code_commit.plugins.host import interrupted_while_loading
from code_commit_workspace import STOP


def plugins_doctor_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = (
        "Examine every installed plugin: versions, entry points, import times, clashes of names, "
        "hooks and the objects that they name and return. The exit code is 0 if there are no "
        "problems, else 1."
    )
    add_json(parser)


def plugins_doctor(host: CommandHost, arguments: Namespace) -> int:
    """Print versions, entry points, load times and problems; return 1 if there are problems.

    Raises:
        NotReady: the configuration here cannot be read.
    """
    sources = discover()
    seconds = load_times(sources)
    problems = [
        replace(problem, error=host.out.redacted(problem.error))
        for problem in dict.fromkeys(find_problems(host))
    ]
    unsound = {(problem.plugin, problem.distribution) for problem in problems}
    rows = [
        {
            "name": source.name,
            "distribution": source.distribution,
            "version": source.version,
            "group": source.group,
            "entry_point": source.value,
            "load_ms": round(seconds[source] * 1000, 1),
            "sound": (source.name, source.distribution) not in unsound,
        }
        for source in sources
    ]
    if arguments.json:
        versions = {"code-commit": __version__, "python": platform.python_version()}
        documents = [asdict(problem) for problem in problems]
        host.out.document({"versions": versions, "plugins": rows, "problems": documents})
    else:
        print_report(host, rows, problems)
    if problems:
        return ExitCode.NOT_REACHED
    return ExitCode.REACHED


def find_problems(host: CommandHost) -> Iterator[Problem]:
    """Find what is wrong with plugins: loaded ones, unusable ones, and those without a plugin."""
    yield from examined_problems(host.registry, host.settings_in(Path.cwd()))
    for failure in unusable_dependents():
        yield Problem(failure.plugin, failure.distribution, failure.stage, failure.error)
    yield from unmet_requirements()
    yield from without_plugins()


def print_report(
    host: CommandHost,
    rows: Sequence[Mapping[str, Any]],
    problems: Sequence[Problem],
) -> None:
    """Print a line for each plugin and each problem."""
    count = count_of(len(rows), "plugin")
    host.out.line(f"code-commit {__version__}, Python {platform.python_version()}, {count}")
    table = []
    for row in rows:
        mark = "  ok" if row["sound"] else "  !!"
        distribution = f"{row['distribution']} {row['version']}"
        entry_point = f"{row['group']}: {row['entry_point']}"
        load_time = f"{row['load_ms']:.1f} ms"
        table.append((mark, row["name"], distribution, entry_point, load_time))
    host.out.table(table)
    for problem in problems:
        host.out.line(
            f"{problem.plugin} of {problem.distribution}, {problem.stage}: {problem.error}"
        )
    if problems:
        host.out.line(count_of(len(problems), "problem"))
    else:
        host.out.line("nothing is wrong")


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


def unmet_requirements() -> Iterator[Problem]:
    """Find what distributions with plugins require and what is not installed."""
    for distribution in distributions_naming_host():
        plugins = [entry.name for entry in distribution.entry_points if entry.group in GROUPS]
        for name in plugins[:1]:
            for fault in faults_of_requirements(distribution):
                yield Problem(name, name_of(distribution), "requirements", fault)


def without_plugins() -> Iterator[Problem]:
    """Find distributions that depend on the host and have neither a plugin nor a program."""
    for distribution in distributions_naming_host():
        groups = {entry.group for entry in distribution.entry_points}
        has_entry = groups & {*GROUPS, "console_scripts"} or wrong_groups(distribution)
        if has_entry or not any(required_hosts(distribution)):
            continue
        name = name_of(distribution) or "a distribution without a name"
        yield Problem(
            name.removeprefix(f"{HOST}-"),
            name,
            "entry points",
            f"it depends on {HOST} and registers no plugin: "
            f"its metadata has no entry point group {GROUP}",
        )
