"""The layout of a help text: what is wrapped where, in which order workflows stand, and whose flags
are shown.
"""

from __future__ import annotations

import re
import sys
from string import ascii_lowercase
from types import ModuleType

import pytest

from code_commit.cli.arguments import BUILTIN, RESERVED
from code_commit.cli.help import print_workflow_help
from code_commit.cli.parser import Parser
from code_commit.plugin_api import CommandDefinition, Flag, WorkflowDefinition, hookimpl
from code_commit.plugin_api.errors import UsageError
from code_commit.plugins.discovery import PluginSource
from code_commit.plugins.host import PluginHost
from code_commit.plugins.registry import Registry

# As before Python 3.13.
OLD_FLAG = re.compile("^  (--[a-z]+) ([A-Z]+), (-[a-z]) \\2 +", re.MULTILINE)
DEEP = Flag(("--deep", "-d"), "100% deep", "N")
WORKFLOWS = [
    WorkflowDefinition("zz-last", "stand last", (Flag(("--zz",), "last", selects=True), DEEP), "x:y"),
    WorkflowDefinition("aa", "stand second", (Flag(("--aa",), "second", selects=True), DEEP), "x:y", ignores=("--gone", "--zz")),
    WorkflowDefinition("committing-code", "stand first", (DEEP,), "x:y", ignores=("--gone",)),
]  # fmt: skip
DESCRIPTION = """\
A paragraph with a well-known-hyphenated-name that is wrapped at forty columns.
  an indented line stays as it is, however long it becomes

Another one."""
HELP = """\
usage: prog [flags] file

A paragraph with a
well-known-hyphenated-name that is wrapped
at forty columns.
  an indented line stays as it is, however long it becomes

Another one.

arguments:
  file                a file

flags:
  --help, -h          show this help
  --long-flag-name LONG-VALUE
                      what it is for

more:
  a b c d e f g h i j k l m n o p q r s
  t u v w x y z

  --more              more of it

The end of it is wrapped as well, as it
should be.
"""


def test_paragraphs_are_wrapped_and_indented_lines_are_not(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "42")
    end = "The end of it is wrapped as well, as it should be."
    parser = Parser(prog="prog", usage="prog [flags] file", description=DESCRIPTION, epilog=end)
    parser.add_argument("file", help="a file")
    parser.add_argument("--long-flag-name", metavar="LONG-VALUE", help="what it is for")
    group = parser.add_argument_group("more", " ".join(ascii_lowercase))
    group.add_argument("--more", action="store_true", help="more of it")
    assert parser.format_help() == HELP


def test_a_help_is_never_wider_than_a_hundred_columns(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    parser = Parser(prog="prog", description="x " * 200)
    widths = {len(line) for line in parser.format_help().splitlines()}
    assert max(widths) == 99  # fifty letters and the blanks between them


def test_a_parser_raises_and_takes_no_abbreviation() -> None:
    parser = Parser(prog="prog")
    parser.add_argument("--known")
    with pytest.raises(UsageError, match=r"^unrecognized arguments: --kno x$") as caught:
        parser.parse_args(["--kno", "x"])
    assert caught.value.hint == "`prog --help` lists the commands and flags"


@pytest.fixture
def shown(monkeypatch, capsys):
    """Return a function that shows the help with these workflows."""
    monkeypatch.setenv("COLUMNS", "100")

    def shown(workflows, commands=()) -> str:
        module = ModuleType("flags_plugin")
        hooks = {
            "code_commit_workflows": lambda: workflows,
            "code_commit_commands": lambda: commands,
        }
        vars(module).update({name: hookimpl(hook) for name, hook in hooks.items()})
        monkeypatch.setitem(sys.modules, "flags_plugin", module)
        sources = [
            PluginSource("flags", "code-commit-commit", "1.0", "code_commit", "flags_plugin")
        ]
        sources.append(PluginSource("gone", "gone", "1.0", "code_commit", "nowhere_to_be_found"))
        print_workflow_help(Registry(PluginHost(sources, builtin=BUILTIN), reserved_flags=RESERVED))
        return OLD_FLAG.sub(
            lambda found: f"  {found[1]}, {found[3]} {found[2]}".ljust(30), capsys.readouterr().out
        )

    return shown


HEAD = """\
usage: code-commit [QUERY] [flags]
       code-commit COMMAND [flags]

Change a codebase through a language model, and let the project's own build decide whether the
change is good. Without a command, code-commit runs a workflow: committing-code, unless a flag
selects another one.

commands:
  completion      print a completion script for your shell
  config          print every setting and where it comes from
  doctor          check everything that a run needs
  models          list the models of the installed providers
  plugins         list the installed plugins, and what failed
  plugins doctor  examine every plugin more closely, for its author
  redo            bring back what was moved back last
  undo            restore the files that a run changed

flags of every workflow:
  --help, -h                  show this help
  --version, -V               show the version
  -C DIR                      work in this folder instead of the current one
  --model, -m NAME            use this model: an id or alias, provider/any-id, or a named config
  --max-cost USD              end the run before it can cost more than this
  --on-failure keep|restore   keep or restore the files if the goal is not reached (default keep)
  --sandbox auto|require|off  isolate builds with bubblewrap: if it works, always, or never (default
                              auto)
  --json                      print events to stdout, one JSON object per line
  --quiet, -q                 print only errors, no progress
  --debug                     show the traceback of an internal error
  --disable-plugin NAME       do not load this plugin; repeatable
"""
FAILED = "plugins that failed: gone; `code-commit plugins` shows why\n"
EXAMPLES = """
examples:
  code-commit --query "Rename the module util to text"
  git diff | code-commit --query-file - --dry-run

`code-commit help COMMAND` explains a command. The exit code is 0 when the goal was reached.
"""


def test_the_default_workflow_comes_first_and_a_shared_flag_once(shown) -> None:
    workflows = """
workflow committing-code:
  stand first

  --deep, -d N                100% deep; also for aa and zz-last

workflow aa:
  stand second

  --aa                        second

workflow zz-last:
  stand last

  --zz                        last
"""
    assert shown(WORKFLOWS) == HEAD + workflows + EXAMPLES + FAILED


def test_without_the_default_workflow_the_end_says_how_to_get_it(shown) -> None:
    end = """
The default workflow is not installed. Install it:
  in a checkout of code-commit, pip install ".[commit]" or uv tool install ".[all]"
"""
    assert shown([]) == HEAD + end + FAILED


def test_the_examples_have_the_commands_that_are_installed(shown) -> None:
    commands = [CommandDefinition(name, name, "x:y") for name in ("init", "demo", "other")]
    examples = shown(WORKFLOWS, commands).partition("\nexamples:\n")[2]
    assert examples.startswith("  code-commit demo\n  code-commit init\n  code-commit --query ")
