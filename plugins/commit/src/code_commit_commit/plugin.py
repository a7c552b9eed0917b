"""The hooks of the plugin. Every start imports this module: keep it light."""

from __future__ import annotations

from typing import TYPE_CHECKING

from code_commit.plugin_api import (
    QUERY_FLAGS,
    CheckDefinition,
    CommandDefinition,
    Flag,
    WorkflowDefinition,
    hookimpl,
)

if TYPE_CHECKING:
    import pluggy


@hookimpl
def code_commit_addhooks(pluginmanager: pluggy.PluginManager) -> None:
    """Declare the hooks of the workflow, so that a misspelled implementation is an error."""
    from code_commit_commit import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


@hookimpl
def code_commit_settings() -> str:
    """Return the model of the section `[plugins.commit]`."""
    return "code_commit_commit.settings:CommitSettings"


@hookimpl
def code_commit_workflows() -> list[WorkflowDefinition]:
    """Return the default workflow."""
    return [
        WorkflowDefinition(
            name="committing-code",
            help="change the code as the query describes, until build.sh passes (the default)",
            flags=(
                *QUERY_FLAGS,
                Flag(
                    ("--edit",),
                    "write the query in your editor, beginning with the latest one",
                ),
                Flag(
                    ("--rollup",),
                    "collect the code again first, as `code-commit rollup` does",
                    for_programs=True,
                ),
                Flag(
                    ("--context",),
                    "show all of the code, or what a context such as ranked chooses for the query "
                    "(default auto: all if it fits)",
                    metavar="NAME",
                    for_programs=True,
                ),
                Flag(
                    ("--context-tokens",),
                    "the most tokens of code",
                    metavar="N",
                    for_programs=True,
                ),
                Flag(
                    ("--files",),
                    "show these files, and only the names of others; repeatable",
                    metavar="PATH",
                    several=True,
                ),
                Flag(("--dry-run",), "show the change as a diff, apply nothing", for_programs=True),
                Flag(
                    ("--candidates",),
                    "ask for N responses at once, or each of these models; keep the first one "
                    "that passes (default 1)",
                    metavar="N|MODELS",
                    for_programs=True,
                ),
                Flag(
                    ("--repairs",),
                    "maximum number of repairs of a red build (default 3)",
                    metavar="N",
                    for_programs=True,
                ),
                Flag(
                    ("--format",),
                    "how a response names changes: files, edits or auto (default files)",
                    metavar="NAME",
                    for_programs=True,
                ),
                Flag(
                    ("--commit",),
                    "commit the changed files with git if the build passes",
                    for_programs=True,
                ),
                Flag(
                    ("--no-commit",),
                    "do not commit, even if auto_commit is set",
                    for_programs=True,
                ),
                Flag(
                    ("--allow-tests",),
                    "tests and other files that check the code, which the query means to change",
                    metavar="PATH",
                    several=True,
                    needs="code-commit-acceptance",
                ),
                Flag(
                    ("--review",),
                    "let the model of the role reviewer judge the change after a green build",
                    needs="code-commit-acceptance",
                    for_programs=True,
                ),
            ),
            run="code_commit_commit.workflow:commit",
            options="code_commit_commit.settings:CommitOptions",
            optional_roles=("navigator", "reviewer"),
            models="candidates",
        )
    ]


@hookimpl
def code_commit_commands() -> list[CommandDefinition]:
    """Return the commands that prepare a run."""
    return [
        _command(
            "init", "create the files that a project needs before its first run", "commands.init"
        ),
        _command("rollup", "collect the code for the model", "commands.rollup"),
        _command("check", "check whether a response may change paths", "commands.check"),
        _command("demo", "replay a recorded run in a scratch folder", "demo.play"),
    ]


@hookimpl
def code_commit_checks() -> list[CheckDefinition]:
    """Return the checks of the inputs of a commit."""
    return [
        CheckDefinition("build.sh", "code_commit_commit.checks:check_build"),
        CheckDefinition("query", "code_commit_commit.checks:check_query"),
        CheckDefinition("format", "code_commit_commit.checks:check_format"),
        CheckDefinition("commit", "code_commit_commit.checks:check_commit"),
        CheckDefinition("rollup", "code_commit_commit.checks:check_rollup"),
    ]


def _command(name: str, help_line: str, module: str) -> CommandDefinition:
    code = f"code_commit_commit.{module}"
    return CommandDefinition(name, help_line, f"{code}:{name}", f"{code}:add_arguments")
