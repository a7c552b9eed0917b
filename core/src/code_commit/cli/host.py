"""The `Host` of a command: plugins, settings and runs, each loaded on first use."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from code_commit.cli.arguments import BUILTIN, load_registry, parse_invocation
from code_commit.cli.output import CommandOutput
from code_commit.cli.parser import Parser
from code_commit.cli.project_folder import project_root
from code_commit.plugin_api.errors import Interrupted, NotReady, UsageError
from code_commit.plugin_api.host import HOST, Plugin, PluginFailure
from code_commit.plugin_api.private_folder import PRIVATE_FOLDER, STATE_FOLDER
from code_commit.plugin_api.sync_result import require_sync
from code_commit.plugins import first_party
from code_commit.plugins.code import collect_objects, import_code, naming, noting
from code_commit.plugins.discovery import discover
from code_commit.plugins.host import PluginHost
from code_commit.plugins.registry import Registry
from code_commit_workspace import STOP
from code_commit_workspace.words import did_you_mean

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from code_commit.config.keys import KeyStore
    from code_commit.config.loading import Settings
    from code_commit.plugin_api.definitions import CommandDefinition, Invocation
    from code_commit.plugin_api.host import Repository
    from code_commit.plugin_api.run import RunSummary
    from code_commit_workspace import Redactor, StoreLimits, Workspace

_HIGHEST_CODE = 255  # that a process can return


@dataclass(eq=False, repr=False)
class CommandHost:
    """Implements `plugin_api.Host`, and has more for the host's own commands.

    `plugin` offers the command: its settings and secrets are the ones that the command gets.
    `flags` maps settings to values from the command line. `argv` are the words of the command line.
    """

    environ: Mapping[str, str]
    disabled: Sequence[str] = ()
    plugin: Plugin | None = None
    out: CommandOutput = field(default_factory=CommandOutput)
    flags: Mapping[str, Any] = field(default_factory=dict)
    argv: Sequence[str] = ()

    @property
    def root(self) -> Path:
        """The working directory, which is the root of the project.

        Raises:
            NotReady: it lies inside a project.
        """
        return project_root(self.argv)

    @property
    def argv0(self) -> str:
        """The program that started this process, as a shell command for any working directory."""
        import shlex

        program = sys.argv[0]
        if program.endswith("__main__.py"):
            from code_commit.plugin_api.own_python import python_command

            return shlex.join(python_command("code_commit"))
        if os.sep in program:
            program = os.path.abspath(program)  # noqa: PTH100 - `resolve` follows links
        return shlex.quote(program)

    @cached_property
    def registry(self) -> Registry:
        """The offers of all plugins except disabled ones."""
        registry = load_registry(self.disabled)
        self.out.registries.append(registry)
        return registry

    @property
    def plugins(self) -> Sequence[Plugin]:
        """The loaded plugins, without the host's."""
        plugins = self.registry.plugin_host.plugins
        return [plugin for plugin in plugins if plugin.distribution != HOST]

    @property
    def failures(self) -> Sequence[PluginFailure]:
        """The failures of plugins."""
        return self.registry.plugin_host.failures

    @cached_property
    def redactor(self) -> Redactor:
        """The redactor of all configured keys and of the secrets of plugins."""
        from code_commit_workspace import Redactor

        redactor = Redactor()
        with suppress(NotReady):  # such a project reads no key
            self.keys_for(redactor).redact_all(self.registry.secret_variables())
        return redactor

    def of(self, plugin: Plugin) -> CommandHost:
        """Return this host for code of another plugin."""
        host = copy(self)
        host.plugin = plugin
        return host

    def keys_for(self, redactor: Redactor) -> KeyStore:
        from code_commit.config.keys import KeyStore

        return KeyStore(self.root, redactor.add, self.environ)

    def workspace(
        self,
        *,
        writes: bool = False,
        processes: bool = False,
        repository: Repository = "required",
        root: Path | None = None,
    ) -> Workspace:
        """Open the workspace; recover the tree if an earlier run was killed, and say so."""
        from code_commit.plugin_api.run import PROTECTED
        from code_commit_workspace import SandboxSettings, Workspace

        project = root or self.root
        redactor = None
        # Without the settings, any variable may hold a key: hide all of them.
        sandbox = SandboxSettings(mode="require", network=False, secret_prefixes=("",))
        if processes:
            from code_commit.config.own_files import require_own_files_out_of_reach
            from code_commit.run.workspace_settings import sandbox_settings

            redactor = self.redactor
            keys = self.keys_for(redactor)
            secrets = self.registry.secret_variables()
            sandbox = sandbox_settings(self.configuration, keys, secrets)
            require_own_files_out_of_reach(project, self.environ)
        workspace = Workspace.open(
            project,
            writes=writes,
            private_folder=PRIVATE_FOLDER,
            state_folder=STATE_FOLDER,
            repository=repository,
            protected=PROTECTED,
            redactor=redactor,
            sandbox=sandbox,
            store_limits=self._store_limits,
        )
        if workspace.recovered:
            self.out.note(f"warning: {workspace.recovered}")
        return workspace

    def settings(self) -> Any:
        """Return the validated section of the plugin that offers the command."""
        if self.plugin is None:
            return None
        return self._section_of(self.plugin)

    @cached_property
    def configuration(self) -> Settings:
        """The settings of a run in the working directory.

        Raises:
            NotReady: the configuration is broken, or may not be read here.
        """
        return self.settings_in(self.root)

    def settings_in(self, folder: Path) -> Settings:
        """Return the settings of a run in `folder`.

        Raises:
            NotReady: the configuration is broken, or may not be read there.
        """
        from code_commit.config.loading import load_settings
        from code_commit_workspace import check_private_folder

        if os.path.lexists(folder / PRIVATE_FOLDER):
            # Before any setting of the project is read.
            check_private_folder(folder, PRIVATE_FOLDER)
        return load_settings(folder, flags=self.flags, environ=self.environ)

    def _store_limits(self) -> StoreLimits:
        """Return how much the store keeps. `undo` works with a broken configuration, too."""
        from code_commit.run.workspace_settings import store_limits
        from code_commit_workspace import StoreLimits

        try:
            return store_limits(self.configuration)
        except NotReady as error:
            self.out.note(f"warning: the settings in store do not count: {error.message}")
            return StoreLimits()

    @property
    def build_timeout(self) -> float:
        """The setting `build.timeout_seconds`."""
        return self.configuration.build.timeout_seconds

    def collect(self, hook: str, *, plugin: str = "") -> Iterator[tuple[str, Any]]:
        """Call a hook of each plugin, or of one; yield (plugin, item)."""
        owners = {owner.name: owner for owner in self.plugins if hasattr(owner.code, hook)}
        if plugin and plugin not in owners:
            raise self._no_owner(hook, plugin, owners)
        arguments = {"settings": self._section_of, "secret": self._secret_of}
        plugin_host = self.registry.plugin_host
        selected = [owners[plugin]] if plugin else list(owners.values())
        for owner in selected:
            for _, offer in collect_objects(plugin_host, hook, arguments, only=owner):
                yield owner.name, offer

    def _no_owner(self, hook: str, plugin: str, owners: Collection[str]) -> UsageError:
        """Return the error for a plugin that is not among the `owners` of a hook's code."""
        for failure in self.failures:
            if failure.plugin == plugin:
                return UsageError(
                    f"the plugin {plugin} of {failure.distribution} is broken: {failure.error}"
                )
        offer = hook.removeprefix("code_commit_").removesuffix("s").replace("_", " ")  # "log sink"
        installed = ", ".join(owners) or "none"
        return UsageError(
            f"there is no {offer} {plugin!r}{did_you_mean(plugin, owners)}",
            hint=f"installed: {installed}",
        )

    def parse(self, argv: Sequence[str]) -> Invocation:
        """Parse a command line that starts a workflow."""
        return parse_invocation(argv, self.registry)

    def start(
        self,
        invocation: Invocation,
        *,
        root: Path | None = None,
        quiet: bool = False,
    ) -> RunSummary:
        """Run a workflow and return how it ended."""
        from code_commit.cli.run_plan import plan_run
        from code_commit.run.session import run_session

        invocation = replace(invocation, quiet=quiet or invocation.quiet)
        plan = plan_run(invocation, self.registry, self.environ, root, mute=True)
        if plan is None:
            raise Interrupted("quit before the run began")
        with STOP.nested():
            return run_session(plan, self.registry)

    def start_many(
        self,
        invocations: Sequence[Invocation],
        *,
        roots: Sequence[Path | None] = (),
        at_once: int = 2,
        quiet: bool = False,
    ) -> Iterator[RunSummary]:
        """Run workflows at the same time, and yield how each ended, in their order."""
        from code_commit.cli.runs_at_once import start_all

        starts = [
            partial(self.start, invocation, root=root, quiet=quiet)
            for invocation, root in zip(
                invocations, roots or [None] * len(invocations), strict=True
            )
        ]
        return start_all(starts, at_once)

    def run(self, invocation: Invocation) -> int:
        """Run a workflow as its own command line does; return the exit code."""
        from code_commit.cli.workflow import run_invocation

        return run_invocation(invocation, self.registry, self.environ, self.out)

    def _secret_of(self, plugin: Plugin) -> Callable[[str], str | None]:
        from code_commit.run.plugin_settings import plugin_secret

        return plugin_secret(self.registry, self.keys_for(self.redactor).secret, plugin)

    def _section_of(self, plugin: Plugin) -> Any:
        from code_commit.run.plugin_settings import settings_model

        return self.configuration.plugin(
            plugin.name, settings_model(self.registry.plugin_host, plugin)
        )


def run_named(
    name: str,
    argv: Sequence[str],
    environ: Mapping[str, str],
    disabled: Sequence[str],
    out: CommandOutput,
) -> int:
    """Run the command `name`; return its exit code.

    A word after a command without arguments is the second of a name.

    Raises:
        UsageError: the command does not exist, its plugin is broken, or `argv` is wrong.
        TypeError: it returns no exit code.
    """
    plugin, definition = find_command(name, disabled, out)
    parser = command_parser(plugin, definition)
    takes_words = bool(parser._get_positional_actions())  # noqa: SLF001 - no public way
    if argv and not argv[0].startswith("-") and " " not in name and not takes_words:
        return run_named(f"{name} {argv[0]}", argv[1:], environ, disabled, out)
    with noting(plugin, f"the command {name}"):
        arguments, extra = parser.parse_known_args(argv)
        # Every command accepts `--debug`: see `main`.
        if unknown := [word for word in extra if word != "--debug"]:
            flag = unknown[0].partition("=")[0]
            flags = parser._option_string_actions  # noqa: SLF001 - no public way
            parser.error(f"unexpected argument {unknown[0]}{did_you_mean(flag, flags)}")
        with naming(plugin, definition):
            run: Callable[[CommandHost, Namespace], Any] = import_code(definition, "run")
        STOP.begin_work()
        words = (*name.split(), *argv)
        host = CommandHost(environ, disabled=disabled, plugin=plugin, out=out, argv=words)
        return _exit_code(run(host, arguments))


def _exit_code(returned: Any) -> int:
    if isinstance(returned, bool) or not isinstance(returned, int):
        raise TypeError(f"it returned {returned!r:.100}, not an exit code")
    if 0 <= returned <= _HIGHEST_CODE:
        return returned
    raise TypeError(f"it returned {returned!r:.100}, not an exit code")


def find_command(
    name: str,
    disabled: Sequence[str],
    out: CommandOutput,
) -> tuple[Plugin, CommandDefinition]:
    """Return the command `name` and its plugin.

    A command of the host or a first-party plugin loads no other plugin.

    Raises:
        UsageError: the command does not exist, its plugin is broken, or two plugins claim it.
    """
    if not disabled:
        owner = first_party.owner("command", name)
        sources = []
        if owner:
            sources = [source for source in discover() if source.distribution == owner]
        registry = Registry(PluginHost(sources, builtin=BUILTIN))
        out.registries.append(registry)
        if name in registry.commands:
            return registry.commands[name]
    registry = load_registry(disabled)
    out.registries.append(registry)
    return registry.command(name)


def command_parser(plugin: Plugin, definition: CommandDefinition) -> Parser:
    """Return the parser of a command with its arguments.

    Raises:
        UsageError: the code that adds the arguments is broken.
    """
    description = f"{definition.help[:1].upper()}{definition.help[1:]}."
    parser = Parser(prog=f"code-commit {definition.name}", description=description)
    add_arguments(parser, plugin, definition)
    return parser


def add_arguments(parser: ArgumentParser, plugin: Plugin, definition: CommandDefinition) -> None:
    """Add the arguments of a command to `parser`.

    Raises:
        UsageError: the code that adds the arguments is broken.
    """
    if definition.arguments:
        with naming(plugin, definition):
            require_sync(import_code(definition, "arguments")(parser))
