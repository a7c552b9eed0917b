"""`code-commit completion SHELL`: print a script by shtab.

It completes commands, flags, models, files and runs.
"""

from __future__ import annotations

import re
import sys
from argparse import Action, ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.resources import files

from code_commit.cli.arguments import workflow_parser
from code_commit.cli.host import CommandHost, add_arguments
from code_commit.cli.parser import Parser
from code_commit.plugin_api.errors import ExitCode
from code_commit.terminal.streams import write_stdout

_DESCRIPTION = "Print a script that completes commands, flags, models, files and the names of runs."
_EPILOG = """\
Add the line for your shell:
  ~/.bashrc                   source <(code-commit completion bash)
  ~/.zshrc, below compinit    source <(code-commit completion zsh)
  ~/.config/fish/config.fish  code-commit completion fish | source
"""
_PLAIN = re.compile(r"[\w./@+-]+")  # needs no quotes in any shell: shtab adds none


def _complete(function: str) -> dict[str, str]:
    return {"bash": function, "fish": f"({function})", "zsh": function}


def completion_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `completion`."""
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    parser.add_argument("shell", choices=("bash", "fish", "zsh"), help="the shell")


def completion(host: CommandHost, arguments: Namespace) -> int:
    """Print the script of one shell, for the plugins installed now."""
    from shtab import complete

    shell = arguments.shell
    functions = (files("code_commit.cli") / f"completion.{shell}").read_text("utf-8")
    functions = functions.replace("{models}", " ".join(_models(host)))
    script = complete(_whole_parser(host), shell, preamble={shell: functions})  # type: ignore[arg-type]
    # shtab registers nothing when the script is read by `source`, only by `eval`.
    script = script.replace(
        "$zsh_eval_context[-1] == eval", "$zsh_eval_context[-1] != loadautofunc"
    )
    write_stdout(sys.stdout, f"{script}\n")
    return ExitCode.REACHED


def _models(host: CommandHost) -> list[str]:
    """Return the names of models that need no quotes."""
    providers = host.registry.providers
    models = [model for _, definition in providers.values() for model in definition.models]
    if "replay" in providers:
        models.append("replay/latest")
    return [model for model in models if _PLAIN.fullmatch(model)]


def _whole_parser(host: CommandHost) -> Parser:
    """Return a parser for shtab: the flags of workflows, and each command with its arguments."""
    parser = workflow_parser(host.registry)
    parsers = {"": parser}  # by the name of the command
    subparsers = {"": parser.add_subparsers(dest="command")}
    for name, (plugin, definition) in host.registry.commands.items():
        above, _, word = name.rpartition(" ")
        if above not in parsers:
            continue  # a second word without its command
        if above not in subparsers:
            subparsers[above] = parsers[above].add_subparsers()
        command = subparsers[above].add_parser(word)
        parsers[name] = command
        with suppress(Exception):  # of a broken command, complete the name
            add_arguments(command, plugin, definition)
        command.description = definition.help
    sinks = {
        plugin.name for plugin in host.plugins if hasattr(plugin.code, "code_commit_log_sinks")
    }
    plugins = {plugin.name for plugin in host.plugins}
    _add_choices(parser, {"sink": sorted(sinks), "disable_plugin": sorted(plugins)})
    return parser


def _add_choices(parser: ArgumentParser, choices: Mapping[str, Sequence[str]]) -> None:
    """Add what completes the values of arguments, and take out words that a shell could run."""
    from shtab import DIRECTORY, FILE

    for action in parser._actions:  # noqa: SLF001 - no public way
        if isinstance(action, _SubParsersAction):
            action.help = ""
            action._choices_actions = [Action([], name, help=name) for name in action.choices]  # noqa: SLF001 - shtab skips others
            for subparser in action.choices.values():
                _add_choices(subparser, choices)
            continue
        if action.metavar in {"FILE", "PATH", "FOLDER"}:
            action.complete = FILE  # type: ignore[attr-defined]
        elif action.metavar == "DIR":
            action.complete = DIRECTORY  # type: ignore[attr-defined]
        elif action.metavar == "RUN":
            action.complete = _complete("_code_commit_runs")  # type: ignore[attr-defined]
        elif action.dest == "model":
            action.complete = _complete("_code_commit_models")  # type: ignore[attr-defined]
        else:
            words = choices.get(action.dest) or action.choices or _alternatives(action)
            action.choices = [word for word in map(str, words) if _PLAIN.fullmatch(word)] or None
        action.metavar = None  # shtab does not quote it


def _alternatives(action: Action) -> Sequence[str]:
    """Return the values that a metavar such as `keep|restore` names."""
    words = str(action.metavar).split("|")
    if len(words) == 1:
        return ()
    return words
