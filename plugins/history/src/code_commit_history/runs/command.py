"""`code-commit runs ACTION`: the command line of it, and which action is meant."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from code_commit.plugin_api import Host

RUN = "a folder below logs, its beginning, or latest"


@dataclass(frozen=True, slots=True)
class Action:
    """`run` is `"module:function"` of this package: it takes the host and the arguments, and returns the exit code."""

    synopsis: str
    help: str
    run: str


ACTIONS = {
    "list": Action("list", "every run, the newest last (the default)", "listing:list_all"),
    "show": Action("show [RUN]", "one run: calls, builds, changes, files", "showing:show"),
    "diff": Action("diff [RUN] [--attempt N]", "what a run changed, or one attempt", "diffing:diff"),
    "path": Action("path [RUN]", "where the folder of a run is", "showing:path"),
    "prune": Action("prune --keep N", "delete all runs but the newest", "pruning:prune"),
    "export": Action("export --sink NAME [RUN ...] [--all]", "feed runs to a plugin's log sinks", "exporting:export"),
}
_DESCRIPTION = """\
Look at earlier runs.

{actions}

RUN is a folder below logs, its beginning, or latest, the default. With --json every action gives one JSON document.
"""


def runs(host: Host, arguments: argparse.Namespace) -> int:
    """Do what is asked with earlier runs; without an action, list them."""
    module, _, name = ACTIONS[arguments.action or "list"].run.partition(":")
    action: Callable[[Host, argparse.Namespace], int] = getattr(import_module(f"{__package__}.{module}"), name)
    return action(host, arguments)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `runs`, each with its own arguments."""
    parser.usage = "code-commit runs ACTION [flags]"
    column = max(len(each.synopsis) for each in ACTIONS.values()) + 2
    actions = "".join(f"\n  {each.synopsis:<{column}}{each.help}" for each in ACTIONS.values())
    parser.description = _DESCRIPTION.format(actions=f"actions:{actions}")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    chosen = parser.add_subparsers(dest="action", help=argparse.SUPPRESS)
    made = {
        name: chosen.add_parser(name, prog=f"code-commit runs {name}", description=_sentence(action.help))
        for name, action in ACTIONS.items()
    }
    for each in made.values():
        # Suppressed, or the default here would undo a `--json` before the action.
        each.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="one JSON document on stdout")
    for name in ("show", "diff", "path"):
        made[name].add_argument("run", nargs="?", default="latest", metavar="RUN", help=f"{RUN} (default: latest)")
    made["diff"].add_argument("--attempt", type=_counted, metavar="N", help="only what attempt N changed")
    made["prune"].add_argument("--keep", type=_counted, required=True, metavar="N", help="how many runs stay")
    made["export"].add_argument("runs", nargs="*", metavar="RUN", help=f"{RUN}; may be several (default: latest)")
    made["export"].add_argument("--sink", required=True, metavar="NAME", help="the plugin whose sinks are fed")
    made["export"].add_argument("--all", action="store_true", help="every run, the oldest first")


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _counted(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise argparse.ArgumentTypeError("a number of 0 or more is expected")
    return number
