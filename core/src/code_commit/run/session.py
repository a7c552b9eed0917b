"""One run, from the command line's wish to an exit code that tells the truth."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from code_commit.budget import Budget
from code_commit.calls import Calls
from code_commit.checkpoint import Checkpoints
from code_commit.git import Git
from code_commit.guard import Guard
from code_commit.keys import KeyStore
from code_commit.models import Models, resolve
from code_commit.named import named
from code_commit.plugin_host import Plugin, PluginFailure, PluginHost
from code_commit.process import ProcessRunner
from code_commit.project_tree import ProjectTree
from code_commit.records.change import PathRule
from code_commit.records.errors import CodeCommitError, ExitCode, NotReady
from code_commit.records.event import LogSink, MessageLogged, PluginFailed
from code_commit.records.workflow import Outcome, Result, WorkflowDefinition
from code_commit.redaction import Redactor
from code_commit.registry import Registry
from code_commit.replay import Recording, load_recording
from code_commit.run.project_run import ProjectRun
from code_commit.run_log import RunLog, find_run
from code_commit.settings import Settings
from code_commit.transaction import ProjectLock, recover

HOME = Path("agent-config", ".code-commit")
REPLAY = "replay/"
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


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended. `error` is set when an exception ended it; `folder` is the run folder."""

    exit_code: ExitCode
    summary: str
    hint: str
    folder: Path
    error: BaseException | None = None
    late_failures: tuple[PluginFailed, ...] = ()  # of sinks, after the last event


def run_session(plan: Plan, host: PluginHost, registry: Registry, watchers: Mapping[str, LogSink]) -> Ending:
    """Run the workflow of `plan`; whatever happens after the run folder is open becomes its ending.

    `watchers` are the host's own sinks, by name.

    Raises:
        CodeCommitError: the run cannot begin, and there is no run folder.
    """
    with ExitStack() as stack:
        redactor = Redactor()
        git = Git(plan.root)
        keys = KeyStore(plan.root, redactor, plan.environ)  # checks the .gitignore before any key is read
        _require_untracked(git)
        definitions = [definition for _, definition in registry.providers.values()]
        keys.load_all(definitions)
        tree = stack.enter_context(ProjectTree(plan.root))
        home = plan.root / HOME
        recovered = None
        if plan.workflow.writes:
            git.require_repository()
            stack.enter_context(ProjectLock(home))
            recovered = recover(tree, home)
        recording = _recording(plan)
        if recording is None:
            for role in plan.workflow.roles or ("default",):
                resolve(registry, plan.settings, role)
        token = recording.token if recording else secrets.token_hex(8)
        log = RunLog.open(
            plan.root,
            plan.workflow.name,
            redactor=redactor,
            token=token,
            argv=plan.argv,
            versions={plugin.distribution: plugin.version for plugin in host.plugins},
            commit=git.head() if plan.workflow.writes else None,
        )
        for name, sink in watchers.items():
            log.add_sink("code-commit", sink, plugin=name)
        with _told_ending(log) as ending:
            _hear_of_failures(host, log)
            if recovered:
                log.emit(MessageLogged(f"an earlier run was cut off: {recovered}", level="warning"))
            settings_of = partial(_section, plan.settings, host)
            _add_sinks(host, log, settings_of)
            rules = _path_rules(host, settings_of, fail_closed=plan.workflow.writes)
            calls = Calls(log, redactor, budget=_budget(plan.settings), numbered=plan.workflow.numbered)
            models = Models(registry, plan.settings, keys, plan.environ, calls, recording)
            stack.callback(models.close)
            run = ProjectRun(
                root=plan.root,
                folder=log.folder,
                state=_state_folder(home, plan.workflow.name),
                token=token,
                options=plan.options,
                settings=plan.section,
                tree=tree,
                home=home,
                host=host,
                log=log,
                redactor=redactor,
                models=models,
                calls=calls,
                guard=Guard(tree, git, rules),
                runner=ProcessRunner(
                    plan.root,
                    redactor=redactor,
                    sandbox=plan.settings.sandbox,
                    network=plan.settings.network,
                    output_limit=plan.settings.build.output_limit,
                    secret_variables=keys.secret_variables(definitions),
                ),
                checkpoints=Checkpoints(tree, git, home) if plan.workflow.writes else None,
                build_timeout=plan.settings.build.timeout_seconds,
                interactive=plan.workflow.interactive,
                as_json=plan.as_json,
                settings_of=settings_of,
            )
            with _kept_or_restored(run, plan.settings.on_failure, ending):
                ending.result = named(plan.workflow.run)(run)
    return replace(ending.told(log.folder), late_failures=ending.late_failures)


@dataclass(slots=True)
class _Open:
    """An ending while it is not yet known."""

    result: Result | None = None
    error: BaseException | None = None
    late_failures: tuple[PluginFailed, ...] = ()

    @property
    def reached(self) -> bool:
        return self.result is not None and self.result.outcome is Outcome.REACHED

    def told(self, folder: Path) -> Ending:
        match self.error:
            case None if self.result is not None:
                return Ending(ExitCode(self.result.outcome.value), self.result.summary, "", folder)
            case CodeCommitError() as error:
                return Ending(error.exit_code, error.message, error.hint, folder, error)
            case KeyboardInterrupt():
                return Ending(ExitCode.INTERRUPTED, "interrupted", "", folder, self.error)
            case error:
                summary = f"internal error: {type(error).__name__}: {error}"
                return Ending(ExitCode.INTERNAL, summary, "this is a bug; --debug shows where", folder, error)


@contextmanager
def _told_ending(log: RunLog) -> Iterator[_Open]:
    """Let nothing past that is not written down: the last event comes whatever happened."""
    ending = _Open()
    try:
        yield ending
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - becomes the run's ending
        ending.error = error
    finally:
        told = ending.told(log.folder)
        data = dict(ending.result.data) if ending.result and not ending.error else {}
        if told.hint:
            data["hint"] = told.hint
        ending.late_failures = log.finish(told.exit_code, told.summary, data)


@contextmanager
def _kept_or_restored(run: ProjectRun, on_failure: str, ending: _Open) -> Iterator[None]:
    """With `--on-failure restore`, give the tree back as it was unless the goal was reached."""
    try:
        yield
    finally:
        if on_failure == "restore" and not ending.reached:
            run.restore_start("the goal was not reached")
        run.remember_end()


def _require_untracked(git: Git) -> None:
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


def _recording(plan: Plan) -> Recording | None:
    name = plan.settings.model
    if not name.startswith(REPLAY):
        return None
    return load_recording(find_run(plan.root, name.removeprefix(REPLAY)))


def _budget(settings: Settings) -> Budget | None:
    return None if settings.max_cost is None else Budget(float(settings.max_cost))


def _hear_of_failures(host: PluginHost, log: RunLog) -> None:
    def tell(failure: PluginFailure) -> None:
        log.emit(PluginFailed(failure.plugin, failure.distribution, failure.stage, failure.error))

    host.on_failure = tell
    for failure in host.failures:
        tell(failure)


def _section(settings: Settings, host: PluginHost, plugin: Plugin) -> Any:
    return settings.plugin(plugin.name, settings_model(host, plugin))


def settings_model(host: PluginHost, plugin: Plugin) -> type[Any] | None:
    """Return the pydantic model of a plugin's section, or None for a plugin without settings."""
    for owner, target in host.collect("code_commit_settings"):
        if owner is plugin and target:
            model: type[Any] = named(target)
            return model
    return None


def _add_sinks(host: PluginHost, log: RunLog, settings_of: Callable[[Plugin], Any]) -> None:
    for plugin, sink in host.collect("code_commit_log_sinks", settings_of):
        log.add_sink(plugin.distribution, sink, plugin=plugin.name)


def _path_rules(
    host: PluginHost, settings_of: Callable[[Plugin], Any], *, fail_closed: bool
) -> list[tuple[str, PathRule]]:
    """Collect the rules of plugins.

    Raises:
        NotReady: a plugin that guards paths is broken, so a workflow that writes must not start.
    """
    rules = [(plugin.distribution, rule) for plugin, rule in host.collect("code_commit_path_rules", settings_of)]
    broken = [each for each in host.failures if each.guards_paths or each.stage == "code_commit_path_rules"]
    if broken and fail_closed:
        first = broken[0]
        raise NotReady(
            f"{first.distribution} guards paths and is broken ({first.stage}): {first.error}",
            hint=f"mend or uninstall it, or run with --disable-plugin {first.plugin}",
        )
    return rules


def _state_folder(home: Path, workflow: str) -> Path:
    folder = home / "state" / workflow
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise NotReady(f"cannot make {folder}: {error.strerror}") from error
    return folder
