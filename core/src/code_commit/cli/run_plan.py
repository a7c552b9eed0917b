"""Plan the run that a parsed command line asks for: validate its flags and its settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from code_commit.cli.arguments import field_of, is_selector
from code_commit.cli.project_folder import project_root
from code_commit.config.loading import Settings, load_settings
from code_commit.config.schema import explained
from code_commit.config.sources import FLAG
from code_commit.models.resolution import replays
from code_commit.plugin_api.definitions import Invocation, WorkflowDefinition
from code_commit.plugin_api.errors import NotReady, UsageError
from code_commit.plugin_api.host import HOST, Plugin
from code_commit.plugin_api.private_folder import PRIVATE_FOLDER
from code_commit.plugin_api.run_files import RUNS
from code_commit.plugins.code import import_code, naming, noting
from code_commit.plugins.registry import Registry
from code_commit.run.assembly import RunPlan
from code_commit.run.plugin_settings import settings_model
from code_commit.terminal.answers import read_answer
from code_commit.terminal.streams import SafeStream
from code_commit_workspace import check_private_folder

INIT = "run `code-commit init` to add the line and create the other files that a run needs"


def plan_run(
    invocation: Invocation,
    registry: Registry,
    environ: Mapping[str, str],
    root: Path | None = None,
    *,
    mute: bool = False,
) -> RunPlan | None:
    """Validate flags and settings together, and return the plan of the run.

    It is None if the user quit. Without `root`, the workflow chooses the folder. With `mute`, the
    run writes nothing to stdout, which belongs to the calling command.

    Raises:
        UsageError: a flag's value is wrong.
        NotReady: the configuration is wrong.
    """
    flags = _read_flags(invocation, registry)
    plugin = flags.plugin
    workflow = flags.workflow
    with noting(plugin, f"the workflow {workflow.name}"):
        options = _options(flags)
        if root is None:
            root = _choose_root(invocation, options)
    if root is None:
        return None
    settings = _load_settings(root, invocation, flags, registry, environ)
    section = settings.plugin(plugin.name, flags.section_model)
    if flags.settings:
        with noting(plugin, f"the workflow {workflow.name}"):
            options = _options(flags, section)
    plan = RunPlan(
        plugin=plugin,
        workflow=workflow,
        options=options,
        settings=settings,
        section=section,
        root=root.resolve(),
        argv=invocation.argv,
        environ=environ,
        flags=frozenset(flags.values),
        stdout_taken=invocation.as_json or mute,
        shows=_shown(invocation, mute=mute),
        diff_lines=_diff_lines(invocation, settings, mute=mute),
        shown=invocation.shown,
    )
    return _with_chosen_model(plan, registry)


def _with_chosen_model(plan: RunPlan, registry: Registry) -> RunPlan:
    """Return the plan without the models that a setting names, if `--model` names another."""
    field = plan.workflow.models
    settings = plan.settings
    if not plan.models or field in plan.flags or settings.origin("model") != FLAG:
        return plan
    if replays(settings.model, registry):  # it answers for all of them
        return plan
    default = type(plan.options).model_fields[field].default
    return replace(plan, options=plan.options.model_copy(update={field: default}))


@dataclass(frozen=True, slots=True)
class _Flags:
    """The flags that a command line sets, and the models of what they set.

    A flag sets an option of the workflow, or the setting of the plugin that has its name, or both.
    """

    plugin: Plugin
    workflow: WorkflowDefinition
    values: Mapping[str, Any]
    options_model: type[BaseModel] | None
    section_model: type[BaseModel] | None

    @property
    def settings(self) -> frozenset[str]:
        """The names of the plugin's settings."""
        if self.section_model is None:
            return frozenset()
        return frozenset(self.section_model.model_fields)


def _read_flags(invocation: Invocation, registry: Registry) -> _Flags:
    """Return the flags of a workflow.

    Raises:
        UsageError: the workflow is broken: its code cannot be imported, or no flag and no setting
            provides an option that it requires.
    """
    plugin, workflow = registry.workflow(invocation.workflow.name)
    with naming(plugin, workflow):
        import_code(workflow, "run")
        import_code(workflow, "root")
        model: type[BaseModel] | None = import_code(workflow, "options")
    options: Mapping[str, Any] = {}
    if model is not None:
        options = model.model_fields
    # A flag that only selects the workflow needs no option.
    selectors = {field_of(flag.names[0]) for flag in workflow.flags if is_selector(flag)}
    selectors.difference_update(options)
    values = {name: value for name, value in invocation.flags.items() if name not in selectors}
    section_model = settings_model(registry.plugin_host, plugin)
    flags = _Flags(plugin, workflow, values, options_model=model, section_model=section_model)
    settable = {field_of(flag.names[0]) for flag in workflow.flags}.union(flags.settings)
    for name, option in options.items():
        if option.is_required() and name not in settable:
            with naming(plugin, workflow):
                raise UsageError(
                    f"the field {name!r} of {workflow.options} is required, but no flag sets it"
                )
    return flags


def _choose_root(invocation: Invocation, options: Any) -> Path | None:
    """Return the folder of the run: the one that the workflow chooses, or the working directory.

    Raises:
        NotReady: the working directory lies inside a project.
    """
    workflow = invocation.workflow
    choose: Callable[..., Path | None] | None = import_code(workflow, "root")
    if choose is None:
        return project_root(invocation.argv)
    return choose(options, partial(_ask, workflow))


def _load_settings(
    root: Path,
    invocation: Invocation,
    flags: _Flags,
    registry: Registry,
    environ: Mapping[str, str],
) -> Settings:
    """Return the settings of the project at `root`, which the flags override.

    Raises:
        NotReady: there is no such folder, or the settings are wrong or may not be read.
    """
    if not os.path.isdir(root):  # noqa: PTH112 - raises nothing
        raise NotReady(f"there is no folder {root}")
    hint = INIT if "init" in registry.commands else ""
    check_private_folder(root, PRIVATE_FOLDER, untracked=RUNS, hint=hint)  # before any setting
    values = dict(invocation.settings)
    for name, value in flags.values.items():
        if name in flags.settings:
            values[f"plugins.{flags.plugin.name}.{name}"] = value
    settings = load_settings(root, flags=values, environ=environ)
    require_known_names(settings, registry)
    return settings


def _shown(invocation: Invocation, *, mute: bool) -> frozenset[str]:
    """Return the sinks of the host that show the run."""
    sinks = set()
    if not invocation.quiet:
        sinks.add("progress")
    if invocation.as_json and not mute:
        sinks.add("json")
    return frozenset(sinks)


def _diff_lines(invocation: Invocation, settings: Settings, *, mute: bool) -> int:
    """Return how many lines of the diff a person sees at the end of the run."""
    if mute or invocation.as_json or invocation.quiet or invocation.workflow.interactive:
        return 0
    if not SafeStream(sys.stderr).isatty():
        return 0
    return settings.diff_lines


def require_known_names(settings: Settings, registry: Registry) -> None:
    """Check that the settings name known plugins, providers and roles only.

    Raises:
        NotReady: they name another.
    """
    plugin_host = registry.plugin_host
    names = [plugin.name for plugin in plugin_host.plugins if plugin.distribution != HOST]
    names += [failure.plugin for failure in plugin_host.failures]
    settings.require_known(
        [*names, *plugin_host.disabled], registry.known_providers(), registry.known_roles()
    )


def _ask(workflow: WorkflowDefinition, question: str) -> str | None:
    """Ask the user before the run starts.

    The question goes to stderr: stdout may hold events only.
    """
    if not workflow.interactive:
        raise NotReady(
            "a workflow that is not interactive asked a question",
            hint="this is a bug in its plugin",
        )
    return read_answer(lambda: SafeStream(sys.stderr).print(question), screen=sys.stderr)


def _options(flags: _Flags, section: BaseModel | None = None) -> Any:
    """Return the validated options of the workflow.

    Those that are settings have the values in `section`. Without it, they may be missing.
    """
    model = flags.options_model
    if model is None:
        return None
    values = dict(flags.values)
    may_be_missing = flags.settings
    if section is not None:
        may_be_missing = frozenset()
        for name in flags.settings & model.model_fields.keys():
            values[name] = getattr(section, name)
    try:
        return model.model_validate(values)
    except ValidationError as error:
        problems = error.errors()
        texts = explained(error, model, lambda _: FLAG)
        for problem, (_, text) in zip(problems, texts, strict=True):
            if problem["type"] != "missing" or problem["loc"][0] not in may_be_missing:
                raise UsageError(text) from None
        return model.model_construct(None, **values)
