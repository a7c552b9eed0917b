"""What a run needs before it has a folder, and the parts that its `Run` is made of."""

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
from code_commit.imports import import_object
from code_commit.log import RunLog
from code_commit.models.budget import Budget
from code_commit.models.call_log import CallLog
from code_commit.models.chain import Models
from code_commit.models.plugin_layers import collect_layers
from code_commit.models.resolution import Services
from code_commit.plugin_api.errors import NotReady
from code_commit.plugin_api.project_files import PROTECTED
from code_commit.plugin_api.workflow import WorkflowDefinition
from code_commit.plugins.host import Plugin, PluginHost
from code_commit.plugins.registry import Registry
from code_commit.run.project_run import ProjectRun, state_folder
from code_commit_workspace.checkpoint import Checkpoints
from code_commit_workspace.empty_repository import git_without_repository
from code_commit_workspace.git import Git, GitError, NoRepository
from code_commit_workspace.guard import Guard
from code_commit_workspace.process import ProcessRunner, disable_ptrace
from code_commit_workspace.project_tree import ProjectTree
from code_commit_workspace.records import PathRule
from code_commit_workspace.redaction import Redactor
from code_commit_workspace.transaction import HOME, ProjectLock, recover

_OURS = (":(icase)agent-config/config.toml", ":(icase)agent-config/*-key.txt")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be run: a workflow with its validated options and settings, in `root`."""

    plugin: Plugin
    workflow: WorkflowDefinition
    options: Any
    settings: Settings
    section: Any
    root: Path
    argv: tuple[str, ...] = field(repr=False)
    environ: Mapping[str, str] = field(repr=False)
    as_json: bool = False
    stdout: TextIO = field(default_factory=lambda: sys.stdout, repr=False, compare=False)  # for results alone


@dataclass(frozen=True, slots=True)
class Ground:
    """What a run stands on. `recovered` tells what an earlier run, cut off, had left to be put right."""

    git: Git
    tree: ProjectTree
    home: Path
    redactor: Redactor
    keys: KeyStore
    secret_variables: frozenset[str]
    recovered: str | None


def make_ready(plan: Plan, registry: Registry, held: ExitStack) -> Ground:
    """Check what must be so before anything else, take the lock, and put right what an earlier run left.

    Raises:
        NotReady: something is missing or in the way.
    """
    disable_ptrace()
    git, redactor, home = Git(plan.root), Redactor(), plan.root / HOME
    keys = KeyStore(plan.root, redactor, plan.environ)  # checks the .gitignore before any key is read
    require_untracked(git)
    variables = registry.secret_variables()
    keys.censor_all(variables)
    tree = held.enter_context(ProjectTree(plan.root))
    recovered = None
    if plan.workflow.writes:
        lacking = _lacks_repository(git, plan)
        held.enter_context(ProjectLock(home))
        git = git_without_repository(plan.root, home) if lacking else git
        recovered = recover(tree, home)
    return Ground(git, tree, home, redactor, keys, variables | keys.variables_with_keys(), recovered)


def _lacks_repository(git: Git, plan: Plan) -> bool:
    """Whether the root lies in no repository, and the workflow does without one.

    Raises:
        NotReady: it lies in none and should, or git will not work there.
    """
    try:
        git.require_repository()
    except NoRepository:
        if not any(getattr(plan.options, name, False) for name in plan.workflow.no_repository):
            raise
        return True
    return False


def open_log(plan: Plan, host: PluginHost, ground: Ground, *, token: str | None) -> RunLog:
    """Make the run folder; `token` is that of the run which is replayed.

    Raises:
        NotReady: `logs` cannot be written.
    """
    return RunLog.open(
        plan.root,
        plan.workflow.name,
        redactor=ground.redactor,
        token=token or secrets.token_hex(8),
        argv=plan.argv,
        versions={plugin.distribution: plugin.version for plugin in host.plugins},
        commit=ground.git.head() if plan.workflow.writes else None,
    )


def assembled(
    plan: Plan, host: PluginHost, registry: Registry, ground: Ground, log: RunLog, services: Services
) -> ProjectRun:
    """Put the parts of the run together, those of plugins included.

    Raises:
        NotReady: a plugin that guards paths is broken, a section of the settings is, or isolation is missing.
    """
    settings, workflow = plan.settings, plan.workflow
    section_of = partial(_section, settings, host)
    secret_of = partial(plugin_secret, registry, ground.keys)
    sinks = list(host.collect("code_commit_log_sinks", {"settings": section_of, "secret": secret_of}))
    for plugin, sink in sinks:
        log.add_sink(plugin.distribution, sink, plugin=plugin.name)
    rules = _path_rules(host, section_of, fail_closed=workflow.writes)
    guard = Guard(ground.tree, ground.git, PROTECTED, redactor=ground.redactor)
    models = Models(
        services,
        CallLog(log, numbered=workflow.numbered),
        collect_layers(host, section_of, secret_of),
        None if settings.max_cost is None else Budget(float(settings.max_cost)),
        settings.http,
        ground.redactor,
        plan.root,
    )
    runner = ProcessRunner(
        plan.root,
        redactor=ground.redactor,
        sandbox=settings.sandbox,
        network=settings.network,
        output_limit=settings.build.output_limit,
        secret_variables=ground.secret_variables,
        protected=_judges_elsewhere(ground.git, plan.root),
        hidden=ground.keys.files_elsewhere(),
        ignored=ground.git.ignored,
    )
    if workflow.writes:
        runner.look_ahead()  # while the model thinks
    return ProjectRun(
        root=plan.root,
        folder=log.folder,
        state=state_folder(ground.home, plan.plugin.name),
        token=log.token,
        options=plan.options,
        settings=plan.section,
        tree=guard.visible,
        workflow=workflow,
        repository=ground.git,
        home=ground.home,
        host=host,
        log=log,
        redactor=ground.redactor,
        models=models,
        calls=models.log,
        guard=guard,
        rules=rules,
        project=ground.tree,
        runner=runner,
        checkpoints=Checkpoints(ground.tree, ground.git, ground.home) if workflow.writes else None,
        build_timeout=settings.build.timeout_seconds,
        as_json=plan.as_json,
        stdout=plan.stdout,
        keeps_diffs=bool(sinks),
        section_of=section_of,
        secret=secret_of(plan.plugin),
        secret_of=secret_of,
    )


def plugin_secret(registry: Registry, keys: KeyStore, plugin: Plugin) -> Callable[[str], str | None]:
    """Return the function that gives `plugin` the secrets that it declares, and no others."""

    def secret(name: str, /) -> str | None:
        if name not in registry.secrets.get(plugin.name, ()):
            raise NotReady(
                f"the plugin {plugin.name} of {plugin.distribution} asked for the secret {name!r}, "
                "which it does not declare",
                hint="its plugin is at fault: code_commit_secrets has to name it",
            )
        return keys.secret(name)

    return secret


def _judges_elsewhere(git: Git, root: Path) -> tuple[Path, ...]:
    """What judges the project and is not in it: git's folders and the rules of a repository above, or linked."""
    try:
        layout = git.layout()
    except GitError:
        return ()  # a workflow that does not write may run without git
    rules = (parent / ".gitignore" for parent in root.parents if parent.is_relative_to(layout.top))
    return (*(folder for folder in layout.folders if folder != root / ".git"), *rules)


def _section(settings: Settings, host: PluginHost, plugin: Plugin) -> Any:
    return settings.plugin(plugin.name, settings_model(host, plugin))


def settings_model(host: PluginHost, plugin: Plugin) -> type[Any] | None:
    """Return the pydantic model of a plugin's section, or None for a plugin without settings."""
    for owner, target in host.collect("code_commit_settings"):
        if owner is plugin and target:
            try:
                model: type[Any] = import_object(target)
            except (ImportError, AttributeError) as error:
                raise NotReady(f"{plugin.distribution} names settings that are not there: {error}") from error
            return model
    return None


def _path_rules(
    host: PluginHost, section_of: Callable[[Plugin], Any], *, fail_closed: bool
) -> list[tuple[str, PathRule]]:
    """Collect the rules of plugins.

    Raises:
        NotReady: a plugin that guards paths is broken, so a workflow that writes must not start.
    """
    rules = [
        (plugin.distribution, rule) for plugin, rule in host.collect("code_commit_path_rules", {"settings": section_of})
    ]
    broken = [each for each in host.failures if each.guards_paths or each.stage == "code_commit_path_rules"]
    if broken and fail_closed:
        first = broken[0]
        raise NotReady(
            f"{first.distribution} guards paths and is broken ({first.stage}): {first.error}",
            hint=f"mend or uninstall it, or run with --disable-plugin {first.plugin}",
        )
    return rules


def require_untracked(git: Git) -> None:
    """A `.gitignore` does not keep away what a repository brings along: its address must not get the user's key.

    Raises:
        NotReady: git tracks the configuration, or a key.
    """
    tracked = git.run(["ls-files", "-z", "--", *_OURS], check=False).decode("utf-8", "replace").split("\0")[0]
    if tracked:
        raise NotReady(
            f"git tracks {tracked}, so it came with the repository and may not be yours",
            hint=f"read it; if it is yours, `git rm --cached {tracked}`",
        )
