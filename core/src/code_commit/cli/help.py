"""The help of the program: flags of workflows, commands and examples."""

from __future__ import annotations

from code_commit.cli.arguments import workflow_parser
from code_commit.plugins.registry import DEFAULT_WORKFLOW, Registry
from code_commit.terminal.screen import align_columns

_DESCRIPTION = """\
Change a codebase through a language model, and let the project's own build decide whether the \
change is good. Without a command, code-commit runs a workflow: committing-code, unless a flag \
selects another one.

commands:
"""


_LAST_LINE = (
    "`code-commit help COMMAND` explains a command. The exit code is 0 when the goal was reached."
)


def print_workflow_help(registry: Registry) -> None:
    """Print the help of `workflow_parser` with the list of commands and examples."""
    parser = workflow_parser(registry)
    commands = [(f"  {name}", command.help) for name, (_, command) in registry.commands.items()]
    parser.description = _DESCRIPTION + align_columns(commands)
    parser.epilog = _epilog(registry)
    parser.print_help()


def _epilog(registry: Registry) -> str:
    """Show examples with the installed commands, or how to install the default workflow."""
    from code_commit.plugins.missing import failed_plugins

    failed = failed_plugins(registry.plugin_host)
    if DEFAULT_WORKFLOW not in registry.workflows:
        from code_commit.plugin_api.how_to_install import installation

        commands = installation("code-commit-commit")
        return f"The default workflow is not installed. Install it:\n  {commands}\n{failed}"
    lines = [f"code-commit {name}" for name in ("demo", "init") if name in registry.commands]
    lines += [
        'code-commit --query "Rename the module util to text"',
        "git diff | code-commit --query-file - --dry-run",
    ]
    examples = "".join(f"  {line}\n" for line in lines)
    return f"examples:\n{examples}\n{_LAST_LINE}\n{failed}"
