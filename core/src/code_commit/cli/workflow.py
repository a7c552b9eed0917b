"""From a parsed command line to a run, and from its ending to what a person reads."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from code_commit.cli.arguments import Invocation
from code_commit.cli.errors import print_error, print_lone_finish, tell
from code_commit.config.loading import load_settings
from code_commit.config.validation import about_a_flag, explained
from code_commit.imports import import_object
from code_commit.log import JsonLines, Progress
from code_commit.plugin_api.errors import ExitCode, NotReady, UsageError
from code_commit.plugin_api.event import LogSink
from code_commit.plugin_api.workflow import WorkflowDefinition
from code_commit.plugins.host import PluginHost
from code_commit.plugins.registry import Registry
from code_commit.run.assembly import Plan, settings_model
from code_commit.run.session import Ending, run_session
from code_commit_workspace import check_private_folder, printable, read_answer

_QUIT = "quit before the run began"


def run_invocation(invocation: Invocation, host: PluginHost, registry: Registry) -> int:
    """Run what the command line asks for; return the exit code.

    Raises:
        CodeCommitError: the run cannot begin.
    """
    plan = plan_for(invocation, host, registry)
    if plan is None:
        if invocation.as_json:
            print_lone_finish(ExitCode.REACHED, _QUIT)
        return ExitCode.REACHED
    watchers: dict[str, LogSink] = {}
    if not invocation.quiet:
        watchers["progress"] = Progress.on(
            sys.stderr, os.environ, workflow_reports=plan.workflow.reports_progress and not plan.as_json
        )
    if invocation.as_json:
        watchers["json"] = JsonLines(sys.stdout)
    ending = run_session(plan, host, registry, watchers)
    _tell(ending, plan, invocation)
    return ending.exit_code


def plan_for(invocation: Invocation, host: PluginHost, registry: Registry) -> Plan | None:
    """Validate flags and settings together; None when the person quit, asked for the root.

    Raises:
        UsageError: a flag's value is wrong.
        NotReady: the configuration is.
    """
    plugin, workflow = invocation.plugin, invocation.workflow
    model = import_object(workflow.options) if workflow.options else None
    options = _options(model, invocation.flags)
    root = import_object(workflow.root)(options, partial(_ask, workflow)) if workflow.root else Path.cwd()
    if root is None:
        return None
    if not root.is_dir():
        raise NotReady(f"there is no folder {root}")
    check_private_folder(root)  # before anything in it is read as a setting
    section_model = settings_model(host, plugin)
    shared = set(invocation.flags) & set(section_model.model_fields if section_model else ())
    flags = {f"plugins.{plugin.name}.{name}": invocation.flags[name] for name in shared}
    settings = load_settings(root, flags={**invocation.settings, **flags}, environ=os.environ)
    names = [each.name for each in host.plugins] + [each.plugin for each in host.failures]
    settings.require_known(
        plugins=[*names, *host.disabled], providers=registry.known_providers(), roles=registry.known_roles()
    )
    section = settings.plugin(plugin.name, section_model)
    if model and section_model:
        settled = {name: getattr(section, name) for name in model.model_fields if name in section_model.model_fields}
        options = _options(model, {**invocation.flags, **settled})
    return Plan(
        plugin,
        workflow,
        options,
        settings,
        section,
        root.resolve(),
        invocation.argv,
        os.environ,
        as_json=invocation.as_json,
    )


def _ask(workflow: WorkflowDefinition, question: str) -> str | None:
    """Ask the person before there is a run. On stderr: whoever reads stdout expects events there, and nothing else."""
    if not workflow.interactive:
        raise NotReady("a workflow that runs unattended asked a question", hint="its plugin is at fault")
    sys.stderr.write(printable(question) + "\n")
    sys.stderr.flush()
    return read_answer()


def _options(model: type[BaseModel] | None, flags: Mapping[str, Any]) -> Any:
    if model is None:
        return None
    try:
        return model.model_validate(dict(flags))
    except ValidationError as error:
        raise UsageError(about_a_flag(*next(explained(error, model)))) from None


def _tell(ending: Ending, plan: Plan, invocation: Invocation) -> None:
    folder = os.path.relpath(ending.folder, plan.root)
    for failure in ending.late_failures:
        print_error(f"the log sink {failure.plugin} of {failure.distribution} failed: {failure.error}")
    if ending.exit_code is ExitCode.REACHED:
        if not invocation.quiet:
            tell(f"code-commit: {ending.summary} ({folder})")
        return
    if invocation.debug:
        tell(ending.trace.rstrip())
    print_error(ending.summary, ending.hint, folder=folder)
