"""`code-commit completion SHELL`: a script that completes commands, flags, models and runs."""

from __future__ import annotations

import contextlib
import re
import shlex
import sys
from argparse import ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from code_commit.cli.arguments import HOST_FLAGS
from code_commit.cli.host import CommandHost, command_parser
from code_commit.plugin_api.errors import ExitCode

_PLAIN = re.compile(r"[\w./:@+-]+")  # needs no quotes in any shell

_DESCRIPTION = "Print a script that completes commands, flags, models and the names of runs."
_EPILOG = """\
Have the shell ask for it when it starts:
  ~/.bashrc                   source <(code-commit completion bash)
  ~/.zshrc, below compinit    source <(code-commit completion zsh)
  ~/.config/fish/config.fish  code-commit completion fish | source
"""
_BASH = """\
# bash completion of code-commit: source <(code-commit completion bash)
_code_commit() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} choices
  case $before in
{values}
    --query-file) COMPREPLY=($(compgen -f -- "$word")); return ;;
  esac
  if ((COMP_CWORD == 1)); then
    choices={first}
  else
    case ${{COMP_WORDS[1]}} in
{commands}
      *) choices={flags} ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$choices" -- "$word"))
}}
_code_commit_runs() {{ compgen -G 'logs/*/events.jsonl' | cut -d/ -f2; }}
complete -F _code_commit code-commit
"""
_ZSH = """\
#compdef code-commit
# zsh completion of code-commit: source <(code-commit completion zsh), after compinit
_code_commit() {{
  local -a choices
  case ${{words[CURRENT-1]}} in
{values}
    --query-file) _files; return ;;
  esac
  if ((CURRENT == 2)); then
    choices=({first})
  else
    case ${{words[2]}} in
{commands}
      *) choices=({flags}) ;;
    esac
  fi
  compadd -a choices
}}
_code_commit_runs() {{ print -l logs/*/events.jsonl(N:h:t); }}
compdef _code_commit code-commit
"""


@dataclass(frozen=True, slots=True)
class Words:
    """The words to complete: flags, the values of flags, and the flags and actions of each command."""

    flags: Mapping[str, str]
    values: Mapping[str, Sequence[str]]
    commands: Mapping[str, Sequence[str]]
    helps: Mapping[str, str]
    with_runs: frozenset[str]  # commands that take the name of a run


def completion_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `completion`."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    parser.add_argument("shell", choices=sorted(_WRITERS), help="for which shell")


def completion(host: CommandHost, arguments: Namespace) -> int:
    """Print the script of one shell, for the plugins installed now."""
    sys.stdout.write(_WRITERS[arguments.shell](known_words(host)))
    return ExitCode.REACHED


def known_words(host: CommandHost) -> Words:
    """Collect commands, flags and models, including those of plugins, without words that need quotes."""
    registry = host.registry
    flags = {name: each.flag.help for each in HOST_FLAGS for name in each.flag.names}
    for _, workflow in registry.workflows.values():
        flags |= {name: flag.help for flag in workflow.flags for name in flag.names}
    flags |= {"--help": "show all flags", "--version": "show the version"}
    models = [name for _, definition in registry.providers.values() for name in definition.models]
    choices = {each.flag.names[0]: each.choices for each in HOST_FLAGS if each.choices}
    plugins = sorted({plugin.name for plugin in host.plugins})
    values = {"--model": _plain(models), "--disable-plugin": _plain(plugins), **choices}
    parsers: dict[str, ArgumentParser] = {}
    for name, (plugin, definition) in registry.commands.items():
        with contextlib.suppress(Exception):  # a broken command has nothing to complete
            parsers[name] = command_parser(plugin, definition)
    return Words(
        {name: flags[name] for name in _plain(flags)},
        values,
        {name: _plain(_words_of(parser)) for name, parser in parsers.items()},
        {name: registry.commands[name][1].help for name in parsers},
        frozenset(name for name, parser in parsers.items() if _takes_run(parser)),
    )


def _words_of(parser: ArgumentParser) -> list[str]:
    """Return the actions, choices and flags of a command."""
    actions: list[str] = []
    flags: list[str] = []
    for action in parser._actions:  # noqa: SLF001 - no public way
        flags += [name for name in action.option_strings if name.startswith("--")]
        if isinstance(action, _SubParsersAction):
            actions += action.choices
            flags += [word for each in action.choices.values() for word in _words_of(each)]
        elif action.choices and not action.option_strings:
            actions += map(str, action.choices)
    return list(dict.fromkeys([*actions, *flags]))


def _takes_run(parser: ArgumentParser) -> bool:
    for action in parser._actions:  # noqa: SLF001 - no public way
        below = action.choices.values() if isinstance(action, _SubParsersAction) else ()
        if action.metavar == "RUN" or any(map(_takes_run, below)):
            return True
    return False


def _plain(words: Iterable[str]) -> list[str]:
    return [word for word in words if _PLAIN.fullmatch(word)]


def _bash(words: Words) -> str:
    def reply(choices: Iterable[str]) -> str:
        return f'COMPREPLY=($(compgen -W {shlex.quote(" ".join(choices))} -- "$word")); return ;;'

    def following(command: str) -> str:
        quoted = shlex.quote(" ".join(words.commands[command]))
        return f"choices={quoted}" + ('" $(_code_commit_runs) latest"' if command in words.with_runs else "")

    return _BASH.format(
        values="\n".join(f"    {flag}) {reply(choices)}" for flag, choices in words.values.items()),
        commands="\n".join(f"      {command}) {following(command)} ;;" for command in words.commands),
        first=shlex.quote(" ".join([*words.commands, *words.flags])),
        flags=shlex.quote(" ".join(words.flags)),
    )


def _zsh(words: Words) -> str:
    def following(command: str) -> str:
        runs = " $(_code_commit_runs) latest" if command in words.with_runs else ""
        return f"choices=({' '.join(words.commands[command])}{runs})"

    return _ZSH.format(
        values="\n".join(
            f"    {flag}) compadd -- {' '.join(choices)}; return ;;" for flag, choices in words.values.items()
        ),
        commands="\n".join(f"      {command}) {following(command)} ;;" for command in words.commands),
        first=" ".join([*words.commands, *words.flags]),
        flags=" ".join(words.flags),
    )


def _fish(words: Words) -> str:
    lines = [
        "# fish completion of code-commit: code-commit completion fish | source",
        "complete -c code-commit -f",
        "function __code_commit_runs; for each in logs/*/events.jsonl; string split -f 2 / $each; end; end",
    ]
    none = f"not __fish_seen_subcommand_from {' '.join(words.commands)}"
    lines += [
        f"complete -c code-commit -n __fish_use_subcommand -a {command} -d {_fish_text(words.helps[command])}"
        for command in words.commands
    ]
    for flag, text in words.flags.items():
        option = f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
        values = f" -x -a {_fish_text(' '.join(words.values[flag]))}" if flag in words.values else ""
        lines.append(f"complete -c code-commit -n {_fish_text(none)} {option}{values} -d {_fish_text(text)}")
    for command, following in words.commands.items():
        seen = _fish_text(f"__fish_seen_subcommand_from {command}")
        runs = " (__code_commit_runs) latest" if command in words.with_runs else ""
        lines.append(f'complete -c code-commit -n {seen} -a "{" ".join(following)}{runs}"')
    return "\n".join(lines) + "\n"


def _fish_text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_WRITERS = {"bash": _bash, "fish": _fish, "zsh": _zsh}
