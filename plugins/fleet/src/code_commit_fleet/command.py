"""`code-commit fleet ACTION`: its command line, and the dispatch to an action."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from code_commit.plugin_api import Host, UsageError

_FILE = "fleet.toml"


@dataclass(frozen=True, slots=True)
class Action:
    """An action.

    `run` is `"module:function"` in this package; the function takes the host and the arguments, and
    returns the exit code."""

    synopsis: str
    help: str
    run: str


ACTIONS = {
    "run": Action("run FILE", "run the units that are not finished", "running:run"),
    "status": Action("status [FILE]", "show the progress of the fleet", "status:status"),
    "show": Action("show UNIT [FILE]", "show one unit", "status:show"),
    "retry": Action("retry [--failed | UNIT ...] [FILE]", "run units again", "running:retry"),
    "report": Action("report [FILE]", "write an HTML page about the fleet", "report:report"),
    "export": Action(
        "export --patches|--branches|--csv [FILE]", "export the results", "exporting:export"
    ),
}
_HIDDEN = {
    "setup": Action(
        "setup", "run a setup command from stdin in the sandbox, as a unit does", "setup:setup"
    )
}
_DESCRIPTION = """\
Run one change over many repositories, or many models over one.

{actions}

FILE lists the repositories, the query and the models (default: fleet.toml). The results are in a folder next to it, \
NAME.fleet. UNIT is an id, the start of one, or the name of a repository.
"""


def fleet(host: Host, arguments: argparse.Namespace) -> int:
    """Run the chosen action.

    Raises:
        UsageError: there is none.
    """
    action = (ACTIONS | _HIDDEN).get(arguments.action or "")
    if action is None:
        raise UsageError("fleet needs an action", hint=f"one of: {', '.join(ACTIONS)}")
    module, _, name = action.run.partition(":")
    run: Callable[[Host, argparse.Namespace], int] = getattr(
        import_module(f"{__package__}.{module}"), name
    )
    return run(host, arguments)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `fleet`, each with its own arguments."""
    parser.usage = "code-commit fleet ACTION [flags]"
    column = max(len(each.synopsis) for each in ACTIONS.values()) + 2
    actions = "".join(f"\n  {each.synopsis:<{column}}{each.help}" for each in ACTIONS.values())
    parser.description = _DESCRIPTION.format(actions=f"actions:{actions}")
    chosen = parser.add_subparsers(dest="action", help=argparse.SUPPRESS)
    parsers = {
        name: chosen.add_parser(
            name,
            prog=f"code-commit fleet {name}",
            description=f"{action.help[:1].upper()}{action.help[1:]}.",
        )
        for name, action in (ACTIONS | _HIDDEN).items()
    }
    for name in ("run", "retry"):
        parsers[name].add_argument(
            "--json", action="store_true", help="print events, one JSON object per line"
        )
    for name in ("status", "show"):
        parsers[name].add_argument(
            "--json", action="store_true", help="one JSON document on stdout"
        )
    parsers["run"].add_argument("file", metavar="FILE", help="the fleet file")
    for name in ("status", "report", "export"):
        parsers[name].add_argument(
            "file", nargs="?", default=_FILE, metavar="FILE", help=f"default: {_FILE}"
        )
    parsers["show"].add_argument(
        "unit", metavar="UNIT", help="an id, the start of one, or a repository"
    )
    parsers["show"].add_argument(
        "file", nargs="?", default=_FILE, metavar="FILE", help=f"default: {_FILE}"
    )
    parsers["retry"].add_argument(
        "units", nargs="*", metavar="UNIT", help="a unit; the last one can be FILE"
    )
    parsers["retry"].add_argument(
        "--failed", action="store_true", help="all units that were not reached"
    )
    for name in ("run", "retry"):
        _add_cluster(parsers[name])
    gate = parsers["run"].add_mutually_exclusive_group()
    gate.add_argument(
        "--go", action="store_true", help="start the rest although the pilot was not reached"
    )
    gate.add_argument(
        "--skip",
        action="store_true",
        help="leave out the units that the pilot did not reach; start the rest",
    )
    what = parsers["export"].add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--patches",
        action="store_true",
        help="write the patch of each reached unit to a new folder",
    )
    what.add_argument(
        "--branches", action="store_true", help="create the result branch in each local repository"
    )
    what.add_argument("--csv", action="store_true", help="print a table of all units")
    help_of_output = "the new folder, or the file of the table (default: NAME.patches, stdout)"
    parsers["export"].add_argument("--output", metavar="PATH", help=help_of_output)
    parsers["setup"].add_argument("--sandbox", choices=("auto", "require", "off"), default="auto")


def _add_cluster(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workers", type=_positive, metavar="N", help="units at the same time on this machine"
    )
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="use a Dask cluster: tls://host:8786"
    )
    parser.add_argument("--insecure", action="store_true", help="allow a scheduler without TLS")
    parser.add_argument(
        "--sandbox",
        choices=("auto", "require", "off"),
        help="isolate builds: if it works, always, or never (default: auto; with --scheduler, require)",
    )


def split_file(words: list[str]) -> tuple[list[str], str]:
    """Return the units and the file among the arguments of `retry`."""
    if words and words[-1].endswith(".toml"):
        return words[:-1], words[-1]
    return words, _FILE


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("expected a number of 1 or more")
    return int(text)
