"""Open the project and the run log, and assemble the `Run` from its parts."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from code_commit.config.keys import KeyStore
from code_commit.config.loading import Settings
from code_commit.config.own_files import require_own_files_out_of_reach
from code_commit.log.run_log import RunLog
from code_commit.models.call_log import CallLog
from code_commit.models.chain import Models
from code_commit.models.limits import Budget
from code_commit.models.resolution import Services
from code_commit.plugin_api.definitions import WorkflowDefinition
from code_commit.plugin_api.host import HOST, Plugin, Repository
from code_commit.plugin_api.private_folder import PRIVATE_FOLDER, STATE_FOLDER
from code_commit.plugin_api.run import PROTECTED
from code_commit.plugins.code import collect_objects
from code_commit.plugins.host import ACCEPTANCE, PATH_RULES, PluginHost
from code_commit.plugins.registry import Registry
from code_commit.run.named_rule import NamedRule
from code_commit.run.plugin_settings import plugin_secret, plugin_section
from code_commit.run.project_run import ProjectRun
from code_commit.run.ptrace import disable_ptrace
from code_commit.run.workspace_settings import sandbox_settings, store_limits
from code_commit_workspace import Change, Redactor, Workspace

_SINKS = "code_commit_log_sinks"
_LAYERS = "code_commit_model_layers"


@dataclass(frozen=True, slots=True)
class RunPlan:
    """A workflow with its validated options and settings, to run in `root`."""

    plugin: Plugin
    workflow: WorkflowDefinition
    options: Any
    settings: Settings
    section: Any
    root: Path
    argv: tuple[str, ...] = field(repr=False)
    environ: Mapping[str, str] = field(repr=False)
    flags: frozenset[str] = frozenset()  # the options that the command line sets
    stdout_taken: bool = False  # by the events, or by the command that starts the run
    shows: frozenset[str] = frozenset()  # the host's sinks to add: "progress", "json"
    diff_lines: int = 0  # of the diff to show at the end
    # For recorded answers; see `Invocation`.
    shown: Callable[[Change], bytes | None] | None = field(default=None, repr=False)
    # For results only.
    stdout: TextIO = field(default_factory=lambda: sys.stdout, repr=False, compare=False)

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models that the run calls in place of the default one, if any."""
        models = getattr(self.options, self.workflow.models, None) if self.workflow.models else None
        if models and isinstance(models, str):
            return (models,)
        return models if isinstance(models, tuple) else ()


def open_project(plan: RunPlan, registry: Registry, stack: ExitStack) -> tuple[Workspace, KeyStore]:
    """Find the keys, then open the workspace.

    A workflow that writes takes the lock and recovers the tree.

    Raises:
        NotReady: something is missing or in the way.
    """
    disable_ptrace()
    redactor = Redactor()
    keys = KeyStore(plan.root, redactor.add, plan.environ)
    variables = registry.secret_variables()
    keys.redact_all(variables)
    settings = plan.settings
    writes = plan.workflow.writes
    if writes:
        require_own_files_out_of_reach(plan.root, plan.environ)
    workspace = Workspace.open(
        plan.root,
        writes=writes,
        private_folder=PRIVATE_FOLDER,
        state_folder=STATE_FOLDER,
        repository=_repository(plan),
        protected=PROTECTED,
        redactor=redactor,
        sandbox=sandbox_settings(settings, keys, variables),
        store_limits=lambda: store_limits(settings),
        max_files=settings.max_files,
    )
    stack.enter_context(workspace)
    return workspace, keys


def _repository(plan: RunPlan) -> Repository:
    """Return whether the run needs the user's git repository, or one of its own."""
    if not plan.workflow.writes:
        return "optional"
    if any(getattr(plan.options, name, False) for name in plan.workflow.no_repository):
        return "private"
    return "required"


def open_log(
    plan: RunPlan,
    plugin_host: PluginHost,
    workspace: Workspace,
    *,
    token: str | None,
) -> RunLog:
    """Create the run folder; `token` is the token of the replayed run, if any.

    Raises:
        NotReady: `logs` cannot be written.
    """
    log = RunLog(
        plan.root,
        plan.workflow.name,
        redactor=workspace.redactor,
        token=token or secrets.token_hex(8),
        argv=plan.argv,
        versions={plugin.distribution: plugin.version for plugin in plugin_host.plugins},
        commit=workspace.git.head() if plan.workflow.writes else None,
    )
    log.sender.set((plan.plugin.name, plan.plugin.distribution))
    workspace.name_run(log.folder.name)
    return log


def assemble_run(
    plan: RunPlan,
    registry: Registry,
    workspace: Workspace,
    keys: KeyStore,
    log: RunLog,
    services: Services,
) -> ProjectRun:
    """Assemble the run from its parts, including those of plugins.

    Raises:
        NotReady: a plugin that guards paths or a section of the settings is broken.
    """
    plugin_host = registry.plugin_host
    settings = plan.settings
    workflow = plan.workflow
    arguments: Mapping[str, Callable[[Plugin], Any]] = {
        "settings": partial(plugin_section, settings, plugin_host),
        "secret": partial(plugin_secret, registry, keys.secret),
    }
    has_sinks = _add_sinks(log, plugin_host, arguments)
    rules = _collect_guards(plugin_host, PATH_RULES, arguments, fail_closed=workflow.writes)
    checks = []
    if workflow.writes:
        checks = _collect_guards(plugin_host, ACCEPTANCE, arguments)
    budget = None
    if settings.max_cost is not None:
        budget = Budget(float(settings.max_cost))
    layers: list[tuple[str, Any]] = []
    models = Models(
        services,
        CallLog(log, numbered=workflow.numbered),
        layers,
        budget=budget,
        watched=plan.shows == {"progress"} and bool(sys.stderr and sys.stderr.isatty()),
    )
    # The layers of a plugin may ask for other models.
    others = {"models": lambda plugin: partial(models.other, plugin.distribution)}
    layers += _by_distribution(_collect_guards(plugin_host, _LAYERS, {**arguments, **others}))
    if workflow.writes:
        workspace.look_ahead()  # runs while the model answers
    return ProjectRun(
        plan=plan,
        workspace=workspace,
        log=log,
        models=models,
        plugin_host=plugin_host,
        rules=[
            (plugin.distribution, NamedRule(plugin.distribution, rule)) for plugin, rule in rules
        ],
        checks=checks,
        hook_arguments=arguments,
        keeps_diffs=has_sinks,
        commands=registry.commands.keys(),
    )


def _add_sinks(
    log: RunLog,
    plugin_host: PluginHost,
    arguments: Mapping[str, Callable[[Plugin], Any]],
) -> bool:
    """Add the log sinks of plugins; return whether there are any."""
    installed = [plugin for plugin in plugin_host.plugins if plugin.distribution != HOST]
    sinks: list[tuple[Plugin, Any]] = []
    for plugin in installed:
        sinks += plugin_host.collect(_SINKS, arguments, only=plugin)
    for plugin, sink in sinks:
        log.add_sink(plugin.distribution, sink, plugin=plugin.name)
    return bool(sinks)


def _collect_guards(
    plugin_host: PluginHost,
    hook: str,
    arguments: Mapping[str, Callable[[Plugin], Any]],
    *,
    fail_closed: bool = True,
) -> list[tuple[Plugin, Any]]:
    """Collect the path rules, model layers or acceptance checks of a run, each with its plugin.

    Raises:
        NotReady: a plugin that offers them is broken.
    """
    guards = list(collect_objects(plugin_host, hook, arguments))
    if not fail_closed:
        return guards
    plugin_host.require_hook(hook)
    for failure in plugin_host.failures:
        if failure.guards_paths and hook == PATH_RULES:
            raise failure.stops_run("path rules")
    return guards


def _by_distribution(guards: list[tuple[Plugin, Any]]) -> list[tuple[str, Any]]:
    return [(plugin.distribution, guard) for plugin, guard in guards]
