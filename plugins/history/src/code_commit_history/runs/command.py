"""`code-commit runs ACTION`: the command line of it, and which action is meant."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from code_commit.cli.help_text import RUN, listed
from code_commit.cli.parser import Parser
from code_commit.imports import import_object


@dataclass(frozen=True, slots=True)
class Action:
    """`run` is a `"package.module:function"` that takes the parsed arguments and returns the exit code."""

    synopsis: str
    help: str
    run: str


_HERE = "code_commit_history.runs"
ACTIONS = {
    "list": Action("list", "every run, the newest last (the default)", f"{_HERE}.listing:list_all"),
    "show": Action("show [RUN]", "one run: calls, builds, changes, files", f"{_HERE}.showing:show"),
    "diff": Action("diff [RUN] [--attempt N]", "what a run changed, or one attempt", f"{_HERE}.diffing:diff"),
    "path": Action("path [RUN]", "where the folder of a run is", f"{_HERE}.showing:path"),
    "prune": Action("prune --keep N", "delete all runs but the newest", f"{_HERE}.pruning:prune"),
    "export": Action(
        "export --sink NAME [RUN ...] [--all]", "feed runs to a plugin's log sinks", f"{_HERE}.exporting:export"
    ),
}
_DESCRIPTION = """\
Look at earlier runs.

{actions}

RUN is a folder below logs, its beginning, or latest, the default. With --json every action gives one JSON document.
"""


def runs(argv: Sequence[str]) -> int:
    """Do what is asked with earlier runs.

    Raises:
        CodeCommitError: as the actions say.
    """
    arguments = _parser().parse_args(argv if argv and argv[0] in {*ACTIONS, "-h", "--help"} else ["list", *argv])
    action: Callable[[argparse.Namespace], int] = import_object(ACTIONS[arguments.action].run)
    return action(arguments)


def _parser() -> Parser:
    parser = Parser(
        prog="code-commit runs",
        usage="code-commit runs ACTION [flags]",
        description=_DESCRIPTION.format(
            actions=listed("actions", {each.synopsis: each.help for each in ACTIONS.values()})
        ),
    )
    actions = parser.add_subparsers(dest="action", required=True, parser_class=Parser, help=argparse.SUPPRESS)
    made = {
        name: actions.add_parser(name, prog=f"code-commit runs {name}", description=_sentence(action.help))
        for name, action in ACTIONS.items()
    }
    for each in made.values():
        each.add_argument("--json", action="store_true", help="one JSON document on stdout")
    for name in ("show", "diff", "path"):
        made[name].add_argument("run", nargs="?", default="latest", metavar="RUN", help=f"{RUN} (default: latest)")
    made["diff"].add_argument("--attempt", type=_counted, metavar="N", help="only what attempt N changed")
    made["prune"].add_argument("--keep", type=_counted, required=True, metavar="N", help="how many runs stay")
    made["export"].add_argument("runs", nargs="*", metavar="RUN", help=f"{RUN}; may be several (default: latest)")
    made["export"].add_argument("--sink", required=True, metavar="NAME", help="the plugin whose sinks are fed")
    made["export"].add_argument("--all", action="store_true", help="every run, the oldest first")
    return parser


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
