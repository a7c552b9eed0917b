"""The hooks, for plugins to implement with `code_commit.plugin_api.hookimpl`.

A plugin is a module or object named by an entry point of the group `code_commit`, or, if it guards paths, of the
group `code_commit.path_rules`, which fails closed. Each implementation is called separately: an error in one
does not affect the others. None of these hooks stops at the first result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:  # only for annotations: every start imports this module
    from collections.abc import Callable, Iterable

    from code_commit.plugin_api.command import CommandDefinition
    from code_commit.plugin_api.event import LogSink
    from code_commit.plugin_api.provider import ModelLayer, ProviderDefinition
    from code_commit.plugin_api.workflow import Ending, Run, WorkflowDefinition
    from code_commit_workspace import PathRule


hookspec = pluggy.HookspecMarker("code_commit")


@hookspec
def code_commit_providers() -> Iterable[ProviderDefinition]:
    """Offer providers. Called at every start that lists or uses models: return definitions, import nothing heavy.

    An error leaves the plugin out and is reported; it ends the run only if a provider of this plugin was asked for.
    """
    raise NotImplementedError


@hookspec
def code_commit_workflows() -> Iterable[WorkflowDefinition]:
    """Offer workflows with their flags. Called at every start, `--help` included: import nothing heavy.

    An error leaves the plugin out and is reported; it ends the run only if a workflow of this plugin was asked for.
    """
    raise NotImplementedError


@hookspec
def code_commit_commands() -> Iterable[CommandDefinition]:
    """Offer commands: `code-commit NAME`. Called when a command is asked for, and by `--help`: import nothing heavy.

    An error leaves the plugin out and is reported; it ends the program only if a command of this plugin was asked for.
    """
    raise NotImplementedError


@hookspec
def code_commit_secrets() -> Iterable[str]:
    """Name the environment variables that hold this plugin's secrets.

    Builds and commands do not see them, and their values are censored wherever text leaves the program. `Run.secret`,
    and the argument `secret` of other hooks, gives a value to the plugin that declares it, and to no other.

    Called once when a run starts. An error is reported, and so is a name that no variable can have.
    """
    raise NotImplementedError


@hookspec
def code_commit_model_layers(settings: Any, secret: Callable[[str], str | None]) -> Iterable[ModelLayer]:
    """Offer layers around every model call: a cache, a rate limit, a policy.

    Called once per run, with this plugin's own validated section; `secret` gives the value of a variable that this
    plugin names in `code_commit_secrets`. Layers of several plugins run in order of plugin name, outermost first. An
    error here and the run does not start (exit 3). A layer that raises anything but a `CodeCommitError`, or returns
    no `Completion`, ends the call with exit 4 and the name of its distribution.
    """
    raise NotImplementedError


@hookspec
def code_commit_after_run(settings: Any, run: Run, ending: Ending) -> str | None:
    """Do something when the files are final: open a pull request, notify somebody.

    Called once, before `run.finished`, also when the workflow raised; the lock of a workflow that writes is held.
    Return a line for people, or None. It has `after_run_timeout_seconds` in a thread of its own, and cannot change
    the outcome or the files. `run.settings`, `run.state` and `run.secret` are those of this plugin; models and
    processes have ended. An error, and a call that takes too long, is reported.
    """
    raise NotImplementedError


@hookspec
def code_commit_settings() -> str | None:
    """Name the pydantic model of this plugin's section `[plugins.<entry point name>]` as `"package.module:Name"`.

    Called when a run starts. Without an implementation the section must be empty, and `settings` is None. A section
    that does not validate is exit 3 for the workflow that was chosen, refuses for a plugin that guards paths, and
    drops a log sink.
    """
    raise NotImplementedError


@hookspec
def code_commit_path_rules(settings: Any) -> Iterable[PathRule]:
    """Offer rules that judge the changes of a response. Called once per run, with this plugin's own validated section.

    A rule may refuse a change set or send it back; it can never allow what another rule refuses. After an error here a
    workflow that writes does not start (exit 3); an error in the rule refuses the response. The plugin must be
    registered in the entry point group `code_commit.path_rules`: elsewhere this hook is an error.
    """
    raise NotImplementedError


@hookspec
def code_commit_log_sinks(settings: Any, secret: Callable[[str], str | None]) -> Iterable[LogSink]:
    """Offer sinks for the records of a run.

    Called once per run, with this plugin's own validated section; `secret` as for `code_commit_model_layers`. An
    error here or in the sink is reported once and drops the sink; the run goes on.
    """
    raise NotImplementedError


@hookspec
def code_commit_addhooks(pluginmanager: pluggy.PluginManager) -> None:
    """Add hook specifications of your own, with `pluginmanager.add_hookspecs`; `Run.collect` calls them.

    Their names begin with `code_commit_`, their only argument is `settings`: the section of the plugin that
    implements the hook. Who implements a hook of a plugin that may be missing marks it `optionalhook=True`.

    Called once at every start, before any other hook. An error is reported; the plugin's other hooks still count.
    """
    raise NotImplementedError
