"""`code-commit plugins doctor`: is every plugin what it should be?"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from code_commit import __version__
from code_commit.cli.censoring import censored
from code_commit.cli.parser import Parser
from code_commit.cli.plugin_checks import Problem, dependents, load_times, problems
from code_commit.cli.tables import print_document, print_line, print_table
from code_commit.config.loading import load_settings
from code_commit.plugin_api.errors import ExitCode
from code_commit.plugins.discovery import discover
from code_commit.plugins.host import PluginHost

_DESCRIPTION = (
    "Examine every installed plugin: versions, entry points, import times, clashes of names, hooks and what they name. "
    "The exit code is 0 when nothing is wrong, else 1."
)


def doctor(argv: Sequence[str]) -> int:
    """Print versions, entry points, load times and whatever is wrong; the exit code is 1 when something is.

    Raises:
        NotReady: the configuration here cannot be read.
    """
    parser = Parser(prog="code-commit plugins doctor", description=_DESCRIPTION)
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    as_json = parser.parse_args(argv).json
    sources = discover()
    seconds = load_times(sources)
    found = [
        Problem(each.plugin, each.distribution, each.stage, censored(each.error))
        for each in [*problems(PluginHost(), load_settings(Path.cwd(), environ=os.environ)), *dependents(sources)]
    ]
    rows = [
        {
            "name": source.name,
            "distribution": source.distribution,
            "version": source.version,
            "group": source.group,
            "entry_point": source.value,
            "load_ms": round(seconds[source] * 1000, 1),
            "sound": not any((each.plugin, each.distribution) == (source.name, source.distribution) for each in found),
        }
        for source in sources
    ]
    if as_json:
        versions = {"code-commit": __version__, "python": platform.python_version()}
        print_document({"versions": versions, "plugins": rows, "problems": [asdict(each) for each in found]})
    else:
        print_line(f"code-commit {__version__}, Python {platform.python_version()}, {len(rows)} plugins")
        print_table([
            (
                "  ok" if row["sound"] else "  !!",
                f"{row['name']}",
                f"{row['distribution']} {row['version']}",
                f"{row['group']}: {row['entry_point']}",
                f"{row['load_ms']:.1f} ms",
            )
            for row in rows
        ])  # fmt: skip
        for each in found:
            print_line(f"{each.plugin} of {each.distribution}, {each.stage}: {each.error}")
        print_line("nothing is wrong" if not found else f"{len(found)} problem{'s' * (len(found) > 1)}")
    return ExitCode.NOT_REACHED if found else ExitCode.REACHED
