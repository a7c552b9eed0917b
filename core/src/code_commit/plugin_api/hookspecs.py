"""The hooks that plugins implement with `code_commit.plugin_api.hookimpl`.

A plugin is a module or object that an entry point names. The group of the entry point is
`code_commit`; a plugin with path rules uses `code_commit.path_rules`, which fails closed. The host
calls each implementation separately: an error in one does not affect the others. No hook stops at
the first result.
"""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from code_commit.plugin_api import hookspec

if TYPE_CHECKING:  # only for annotations: every start imports this module
    from collections.abc import Callable, Iterable

    import pluggy

    from code_commit.plugin_api.acceptance import AcceptanceCheck
    from code_commit.plugin_api.definitions import (
        CheckDefinition,
        CommandDefinition,
        ProviderDefinition,
        WorkflowDefinition,
    )
    from code_commit.plugin_api.provider import ModelLayer, OtherModel
    from code_commit.plugin_api.record import LogSink
    from code_commit.plugin_api.run import Ending, Run
    from code_commit_workspace import PathRule


@hookspec
def code_commit_providers() -> Iterable[ProviderDefinition]:
    """Return providers. Called at every start that lists or uses models: import nothing slow.

    An error is reported and disables the plugin; it ends the run only if the run uses a provider of
    this plugin.
    """


@hookspec
def code_commit_workflows() -> Iterable[WorkflowDefinition]:
    """Return workflows with their flags.

    Called at every start, even for `--help`: import nothing slow. An error is reported and disables
    the plugin; it ends the run only if the run uses a workflow of this plugin.
    """


@hookspec
def code_commit_commands() -> Iterable[CommandDefinition]:
    """Return commands: `code-commit NAME`.

    Called when the user runs a command, and for `--help`: import nothing slow. An error is reported
    and disables the plugin; it ends the program only if the user runs a command of this plugin.
    """


@hookspec
def code_commit_checks() -> Iterable[CheckDefinition]:
    """Return checks of what a run needs. Called by `code-commit doctor` only.

    An error in this hook or in a check becomes a line of `doctor` that names the plugin; the other
    checks still run.
    """


@hookspec
def code_commit_secrets() -> Iterable[str]:
    """Return the names of the environment variables that hold this plugin's secrets.

    Builds and commands do not get these variables, and the host censors their values in all output.
    `Run.secret` and the argument `secret` of other hooks return a value, only to the plugin that
    declares it.

    Called once when a run starts. An error or an invalid variable name is reported.
    """


@hookspec
def code_commit_model_layers(
    settings: Any,
    secret: Callable[[str], str | None],
    models: Callable[[str], OtherModel],
) -> Iterable[ModelLayer]:
    """Return layers around every model call, such as a cache, a rate limit or a policy.

    Called once per run, with this plugin's own validated section; `secret` returns the value of a
    variable that this plugin declares in `code_commit_secrets`. `models(name)` returns a model to
    which a layer can pass a call on; a name is what `--model` takes. Ask for it here, not in the
    layer: the run does not start if there is no such model or its key is missing. Layers of several
    plugins run in order of plugin name, outermost first. After an error in this hook the run does
    not start (exit 3). If a layer raises anything but a `CodeCommitError`, or returns no
    `Completion`, the run ends with exit 4 and the name of its distribution.
    """


@hookspec
def code_commit_after_run(settings: Any, run: Run, ending: Ending) -> str | None:
    """Act on the final files: open a pull request, send a notification.

    Called once, before `run.finished`, even if the workflow raised. If the workflow writes, the run
    still holds the lock. Return a line for people, or None. The hook runs in its own thread for at
    most `after_run_timeout_seconds`, and cannot change the outcome or the files. `run.settings`,
    `run.state` and `run.secret` are those of this plugin; models and processes are closed. An error
    or a timeout is reported.
    """


@hookspec
def code_commit_settings() -> str | None:
    """Return the name of the pydantic model of this plugin's section, or None without settings.

    The name has the form `"package.module:Name"`; the section is `[plugins.<entry point name>]`.
    Called when a run starts. Without an implementation, the section must be empty and `settings` is
    None. An invalid section ends the run with exit 3 if it belongs to the chosen workflow or to a
    plugin with path rules; it disables a log sink.
    """


@hookspec
def code_commit_path_rules(settings: Any) -> Iterable[PathRule]:
    """Return path rules, which judge a change set.

    Called once per run, with this plugin's own validated section. A rule may refuse a change set or
    send it back to the model; it cannot allow what another rule refuses. After an error in this
    hook, a workflow that writes does not start (exit 3); an error in a rule refuses the response.
    The entry point of the plugin must be in the group `code_commit.path_rules`: elsewhere this hook
    is an error.
    """


@hookspec
def code_commit_acceptance(settings: Any) -> Iterable[AcceptanceCheck]:
    """Return acceptance checks, which judge a change after a green build.

    Called once per run of a workflow that writes, with this plugin's own validated section. Checks
    run in order of plugin name, those of one plugin in the order in which it returns them. The
    first one that refuses makes the attempt a failed one; later ones are not asked. After an error
    in this hook the run does not start (exit 3). A check that raises, or returns no `Verdict`, ends
    the run with exit 3 and the name of its distribution.
    """


@hookspec
def code_commit_log_sinks(
    settings: Any,
    secret: Callable[[str], str | None],
    plan: Any,
) -> Iterable[LogSink]:
    """Return sinks, which receive the records of a run.

    Called once per run, with this plugin's own validated section; `secret` as for
    `code_commit_model_layers`. `plan` is for the host's own sinks; others get None. An error in
    this hook or in a sink is reported once and disables the sink; the run continues.
    """


@hookspec
def code_commit_addhooks(pluginmanager: pluggy.PluginManager) -> None:
    """Add your own hook specifications with `pluginmanager.add_hookspecs`.

    `Run.collect` calls these hooks. Their names begin with `code_commit_`, and their only argument
    is `settings`: the section of the plugin that implements the hook. If you implement a hook of a
    plugin that may be missing, mark it with `optionalhook=True`.

    Called once at every start, before any other hook. An error is reported; the plugin's other
    hooks still run.
    """
