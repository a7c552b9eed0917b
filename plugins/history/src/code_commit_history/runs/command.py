"""`code-commit runs ACTION`: its command line, and the dispatch to an action."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from code_commit.plugin_api import Host, UsageError
from code_commit_history.runs.selection import FILTERS, add_filters

RUN = "a folder in logs, a unique prefix of its name, or latest"


@dataclass(frozen=True, slots=True)
class Action:
    """An action.

    `run` is `"module:function"` in this package; the function takes the host and the arguments, and
    returns the exit code."""

    synopsis: str
    help: str
    run: str


ACTIONS = {
    "list": Action("list", "list all runs, newest last (default)", "listing:list_all"),
    "show": Action("show [RUN]", "show calls, builds, changes and files", "showing:show"),
    "open": Action(
        "open [RUN] [--all]", "make the page of a run, and open it", "opening:open_page"
    ),
    "diff": Action(
        "diff [RUN] [--attempt N] [--patch FILE]",
        "show the changes of a run or attempt",
        "diffing:diff",
    ),
    "path": Action("path [RUN]", "print the folder of a run", "showing:path"),
    "cost": Action("cost", "show the cost per day and model", "spending:cost"),
    "prune": Action("prune --keep N", "delete all runs but the newest", "pruning:prune"),
    "export": Action(
        "export --sink NAME [RUN ...] [--all]",
        "send runs to a plugin's log sinks",
        "exporting:export",
    ),
}
_FILTERED = ("list", "cost")
_DESCRIPTION = """\
Look at earlier runs.

{actions}

The flags that choose runs are for list and cost; list can be left out: runs --since today.

RUN is a folder in logs, a unique prefix of its name, or latest (the default). With --json, \
every action prints one JSON document.
"""


def runs(host: Host, arguments: argparse.Namespace) -> int:
    """Run the chosen action; without an action, list the runs.

    Raises:
        UsageError: it is an action for one run, with a flag that chooses runs.
    """
    given = [name for name in FILTERS if getattr(arguments, name) is not None]
    if given and arguments.action not in {None, *_FILTERED}:
        raise UsageError(
            f"--{given[0]} is for `runs list` and `runs cost`, not for `runs {arguments.action}`"
        )
    module, _, name = ACTIONS[arguments.action or "list"].run.partition(":")
    action: Callable[[Host, argparse.Namespace], int] = getattr(
        import_module(f"{__package__}.{module}"), name
    )
    return action(host, arguments)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `runs`, each with its own arguments."""
    parser.usage = "code-commit runs ACTION [flags]"
    column = max(len(action.synopsis) for action in ACTIONS.values()) + 2
    lines = [f"  {action.synopsis:<{column}}{action.help}" for action in ACTIONS.values()]
    parser.description = _DESCRIPTION.format(actions="\n".join(["actions:", *lines]))
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    subparsers = parser.add_subparsers(dest="action", help=argparse.SUPPRESS)
    parsers = {
        name: subparsers.add_parser(
            name, prog=f"code-commit runs {name}", description=_sentence(action.help)
        )
        for name, action in ACTIONS.items()
    }
    for action_parser in parsers.values():
        # Suppress the default, which would override a `--json` before the action.
        action_parser.add_argument(
            "--json",
            action="store_true",
            default=argparse.SUPPRESS,
            help="one JSON document on stdout",
        )
    add_filters(parser)
    for name in _FILTERED:
        add_filters(parsers[name], default=argparse.SUPPRESS)  # as for `--json`
    for name in ("show", "open", "diff", "path"):
        parsers[name].add_argument(
            "run",
            nargs="?",
            default="latest",
            metavar="RUN",
            help=f"{RUN} (default: latest)",
        )
    parsers["diff"].add_argument(
        "--attempt", type=_number, metavar="N", help="only the changes of attempt N"
    )
    parsers["diff"].add_argument(
        "--patch", metavar="FILE", help="write a patch for `git apply` to the new file FILE"
    )
    parsers["diff"].add_argument(
        "--no-pager", action="store_true", help="print it at once, also on a terminal"
    )
    parsers["open"].add_argument(
        "--all", action="store_true", help="open the list of all runs instead"
    )
    parsers["open"].add_argument(
        "--no-browser", action="store_true", help="only make the page, and print its path"
    )
    parsers["open"].add_argument(
        "--sink",
        default="html",
        metavar="NAME",
        help="the plugin that makes the page (default: html)",
    )
    parsers["prune"].add_argument(
        "--keep",
        type=_number,
        required=True,
        metavar="N",
        help="number of runs to keep",
    )
    parsers["export"].add_argument(
        "runs", nargs="*", metavar="RUN", help=f"{RUN}; can be repeated (default: latest)"
    )
    parsers["export"].add_argument(
        "--sink", required=True, metavar="NAME", help="the plugin with the sinks"
    )
    parsers["export"].add_argument(
        "--all", action="store_true", help="export all runs, the oldest first"
    )


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _number(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise argparse.ArgumentTypeError("expected a number of 0 or more")
    return number
