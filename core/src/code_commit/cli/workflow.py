"""Start the run that a parsed command line asks for, and print how it ended."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from code_commit.cli.arguments import field_of, is_selector
from code_commit.cli.output import CommandOutput
from code_commit.config.loading import Settings, load_settings
from code_commit.config.schema import explained
from code_commit.config.sources import FLAG
from code_commit.plugin_api.definitions import Invocation, WorkflowDefinition
from code_commit.plugin_api.errors import ExitCode, NotReady, UsageError
from code_commit.plugin_api.host import HOST
from code_commit.plugins.code import import_code, naming, noting
from code_commit.plugins.registry import Registry
from code_commit.run.assembly import RunPlan, settings_model
from code_commit.run.session import RunEnding, run_session
from code_commit.terminal.answers import read_answer
from code_commit.terminal.streams import SafeStream
from code_commit_workspace import check_private_folder
from code_commit_workspace.files.path_kinds import is_folder

INIT = "run `code-commit init`: it adds the line, and creates the other files that a run needs"


def run_invocation(
    invocation: Invocation, registry: Registry, environ: Mapping[str, str], out: CommandOutput
) -> int:
    """Run the workflow of `invocation`; return the exit code.

    Raises:
        CodeCommitError: the run cannot start.
    """
    plan = plan_run(invocation, registry, environ)
    if plan is None:
        if invocation.as_json:
            out.run_finished(ExitCode.REACHED, "quit before the run began")
        return ExitCode.REACHED
    ending = run_session(plan, registry)
    if invocation.debug and registry.plugin_host.traces:
        SafeStream(sys.stderr).print(out.redacted("".join(registry.plugin_host.traces)).rstrip())
    _report(ending, invocation, out)
    return ending.exit_code


def plan_run(
    invocation: Invocation,
    registry: Registry,
    environ: Mapping[str, str],
    root: Path | None = None,
    *,
    mute: bool = False,
) -> RunPlan | None:
    """Validate flags and settings together, for a run in `root` or in the folder that the workflow
    chooses.

    Return None if the user quit. With `mute` the run writes nothing to stdout, which belongs to the
    calling command.

    Raises:
        UsageError: a flag's value is wrong.
        NotReady: the configuration is wrong.
    """
    plugin, workflow = registry.workflow(invocation.workflow.name)
    with naming(plugin, workflow):
        _, model, choose_root = (
            import_code(workflow, field) for field in ("run", "options", "root")
        )
    fields = model.model_fields if model else {}
    # They need no field.
    selectors = {field_of(flag.names[0]) for flag in workflow.flags if is_selector(flag)}
    flags = {
        name: value
        for name, value in invocation.flags.items()
        if name in fields or name not in selectors
    }
    section_model = settings_model(registry.plugin_host, plugin)
    # A flag overrides the setting of the same name.
    shared = section_model.model_fields if section_model else {}
    settable = {field_of(flag.names[0]) for flag in workflow.flags} | shared.keys()
    with naming(plugin, workflow):
        if lost := [
            name for name, field in fields.items() if field.is_required() and name not in settable
        ]:
            raise UsageError(
                f"the field {lost[0]!r} of {workflow.options} is required, but no flag sets it"
            )
    with noting(plugin, f"the workflow {workflow.name}"):
        options = _options(model, flags, shared)
        if root is None:
            root = choose_root(options, partial(_ask, workflow)) if choose_root else Path.cwd()
    if root is None:
        return None
    if not is_folder(root):
        raise NotReady(f"there is no folder {root}")
    # Before any setting is read.
    check_private_folder(root, hint=INIT * ("init" in registry.commands))
    own = {
        f"plugins.{plugin.name}.{name}": value for name, value in flags.items() if name in shared
    }
    settings = load_settings(root, flags={**invocation.settings, **own}, environ=environ)
    require_known_names(settings, registry)
    section = settings.plugin(plugin.name, section_model)
    if shared:
        values = {name: getattr(section, name) for name in fields if name in shared}
        with noting(plugin, f"the workflow {workflow.name}"):
            options = _options(model, {**flags, **values})
    taken = invocation.as_json or mute
    shows = frozenset(
        ["progress"] * (not invocation.quiet) + ["json"] * (invocation.as_json and not mute)
    )
    root, argv = root.resolve(), invocation.argv
    return RunPlan(
        plugin,
        workflow,
        options,
        settings,
        section,
        root,
        argv,
        environ,
        stdout_taken=taken,
        shows=shows,
    )


def require_known_names(settings: Settings, registry: Registry) -> None:
    """Check that the settings name known plugins, providers and roles only.

    Raises:
        NotReady: they name another.
    """
    plugin_host = registry.plugin_host
    names = [each.name for each in plugin_host.plugins if each.distribution != HOST]
    names += [each.plugin for each in plugin_host.failures]
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
    return read_answer(lambda: SafeStream(sys.stderr).print(question))


def _options(
    model: type[BaseModel] | None, flags: Mapping[str, Any], later: Collection[str] = ()
) -> Any:
    """Return the validated flags; those that a setting will provide `later` may be missing."""
    if model is None:
        return None
    try:
        return model.model_validate(dict(flags))
    except ValidationError as error:
        for problem, (_, text) in zip(
            error.errors(), explained(error, model, lambda _: FLAG), strict=True
        ):
            if problem["type"] != "missing" or problem["loc"][0] not in later:
                raise UsageError(text) from None
        return model.model_construct(None, **flags)


def _report(ending: RunEnding, invocation: Invocation, out: CommandOutput) -> None:
    for failure in ending.late_failures:
        out.error(
            f"{failure.plugin} of {failure.distribution} failed ({failure.stage}): {failure.error}"
        )
    figures = [f"cost: {ending.cost}"] * bool(ending.cost)
    if is_folder(ending.folder):
        # A page, if a plugin writes one.
        log = next(iter(sorted(ending.folder.glob("*.html"))), ending.folder)
        figures.append(f"log: {log.relative_to(ending.folder.parent.parent)}")
    if ending.exit_code is ExitCode.REACHED:
        if not invocation.quiet:
            lines = [ending.summary, *[f"hint: {ending.hint}"] * bool(ending.hint), *figures]
            SafeStream(sys.stderr).print("\n".join(lines))
        return
    if invocation.debug:
        SafeStream(sys.stderr).print(ending.trace.rstrip())
    out.error(ending.summary, ending.hint, notes=ending.notes, figures=figures)
