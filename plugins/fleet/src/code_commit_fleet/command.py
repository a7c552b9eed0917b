"""`code-commit fleet ACTION`: its command line, and the dispatch to an action."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from code_commit.plugin_api import Host, UsageError

_FILE = "fleet.toml"
_SANDBOX = ("auto", "require", "off")
# Help for `--json`.
_EVENTS = "print events, one JSON object per line"
_DOCUMENT = "one JSON document on stdout"


@dataclass(frozen=True, slots=True)
class Action:
    """An action.

    `run` is `"module:function"` in this package; the function takes the host and the arguments, and
    returns the exit code.
    """

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

FILE lists the repositories, the query and the models (default: fleet.toml). The results are in a \
folder next to it, NAME.fleet. UNIT is an id, the start of one, or the name of a repository.
"""


def fleet(host: Host, arguments: argparse.Namespace) -> int:
    """Run the chosen action.

    Raises:
        UsageError: there is none.
    """
    action = (ACTIONS | _HIDDEN).get(arguments.action or "")
    if action is None:
        raise UsageError("fleet needs an action", hint=f"one of: {', '.join(ACTIONS)}")
    module_name, _, name = action.run.partition(":")
    module = import_module(f"{__package__}.{module_name}")
    run: Callable[[Host, argparse.Namespace], int] = getattr(module, name)
    return run(host, arguments)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `fleet`, each with its own arguments."""
    parser.usage = "code-commit fleet ACTION [flags]"
    actions = list(ACTIONS.values())
    column = max(len(action.synopsis) for action in actions) + 2
    lines = [f"  {action.synopsis:<{column}}{action.help}" for action in actions]
    parser.description = _DESCRIPTION.format(actions="\n".join(["actions:", *lines]))
    subparsers = parser.add_subparsers(dest="action", help=argparse.SUPPRESS)
    parsers = {
        name: subparsers.add_parser(
            name,
            prog=f"code-commit fleet {name}",
            description=f"{action.help[:1].upper()}{action.help[1:]}.",
        )
        for name, action in (ACTIONS | _HIDDEN).items()
    }
    _add_run(parsers["run"])
    _add_status(parsers["status"])
    _add_show(parsers["show"])
    _add_retry(parsers["retry"])
    _add_file(parsers["report"])
    _add_export(parsers["export"])
    parsers["setup"].add_argument("--sandbox", choices=_SANDBOX, default="auto")


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help=_EVENTS)
    parser.add_argument("file", metavar="FILE", help="the fleet file")
    _add_cluster(parser)
    gate = parser.add_mutually_exclusive_group()
    gate.add_argument(
        "--go", action="store_true", help="start the rest although the pilot was not reached"
    )
    gate.add_argument(
        "--skip",
        action="store_true",
        help="leave out the units that the pilot did not reach; start the rest",
    )


def _add_status(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help=_DOCUMENT)
    _add_file(parser)


def _add_show(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help=_DOCUMENT)
    parser.add_argument("unit", metavar="UNIT", help="an id, the start of one, or a repository")
    _add_file(parser)


def _add_retry(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help=_EVENTS)
    parser.add_argument("units", nargs="*", metavar="UNIT", help="a unit; the last one can be FILE")
    parser.add_argument("--failed", action="store_true", help="all units that were not reached")
    _add_cluster(parser)


def _add_export(parser: argparse.ArgumentParser) -> None:
    _add_file(parser)
    form = parser.add_mutually_exclusive_group(required=True)
    form.add_argument(
        "--patches",
        action="store_true",
        help="write the patch of each reached unit to a new folder",
    )
    form.add_argument(
        "--branches", action="store_true", help="create the result branch in each local repository"
    )
    form.add_argument("--csv", action="store_true", help="print a table of all units")
    parser.add_argument(
        "--output",
        metavar="PATH",
        help="the new folder, or the file of the table (default: NAME.patches, stdout)",
    )


def _add_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default=_FILE, metavar="FILE", help=f"default: {_FILE}")


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
        choices=_SANDBOX,
        help=(
            "isolate builds: if it works, always, or never "
            "(default: auto; with --scheduler, require)"
        ),
    )


def units_and_file(arguments: list[str]) -> tuple[list[str], str]:
    """Return the units and the file among the arguments of `retry`; a file ends in `.toml`."""
    if arguments and arguments[-1].endswith(".toml"):
        return arguments[:-1], arguments[-1]
    return arguments, _FILE


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("expected a number of 1 or more")
    return int(text)
