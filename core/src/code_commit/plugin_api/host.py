"""The `Host` that a command gets: the project, its settings and runs, and the plugins."""

# ruff: noqa: PLC0414 - of the terminal, for plugins
from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from code_commit.terminal.screen import can_repaint as can_repaint
from code_commit.terminal.streams import stdout_aside as stdout_aside
from code_commit.terminal.streams import write_stdout as write_stdout
from code_commit_workspace import NotReady

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from code_commit.plugin_api.definitions import (
        CommandDefinition,
        Invocation,
        ProviderDefinition,
        WorkflowDefinition,
    )
    from code_commit.plugin_api.run import RunSummary
    from code_commit_workspace import Redactor, Workspace

# What a command needs of git: `Workspace.open` explains the words.
Repository = Literal["required", "optional", "private", "existing"]
HOST = "code-commit"  # the distribution of the host, and of the plugin with its own commands


@dataclass(frozen=True, slots=True)
class Plugin:
    """A loaded plugin. `name` is the name of its entry point and of its section in the settings."""

    name: str
    distribution: str
    version: str
    guards_paths: bool
    code: object = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class PluginFailure:
    """A failure of a plugin.

    `stage` is "import", "name", a hook, or the kind of the refused definition. `claimants` are the
    distributions that claim the same name.
    """

    plugin: str
    distribution: str
    version: str
    stage: str
    error: str
    guards_paths: bool
    claimants: tuple[str, ...] = ()

    def stops_run(self, guards: str) -> NotReady:
        """Return the error of a run that cannot start without `guards`, such as path rules."""
        return NotReady(
            f"the plugin {self.plugin} of {self.distribution} has {guards} and is broken "
            f"({self.stage}): {self.error}",
            hint=f"fix it or its settings, or run with --disable-plugin {self.plugin}",
        )


class Registry(Protocol):
    """What the loaded plugins offer, by name."""

    providers: Mapping[str, tuple[Plugin, ProviderDefinition]]
    workflows: Mapping[str, tuple[Plugin, WorkflowDefinition]]
    commands: Mapping[str, tuple[Plugin, CommandDefinition]]

    def names_in_use(self) -> Collection[str]:
        """Return the names of plugins and of what they offer; those of flags without hyphens.

        The host's own count, and those of first-party plugins that are not installed.
        """

    def hint_for(self, text: str) -> str:
        """Return a hint without what it says about commands and flags that are not installed.

        If it gives no other way, it says how to install them. The hints of errors, of the end of a
        run and of checks already are such ones.
        """


class Output(Protocol):
    """Prints the output of a command. It hides keys and escapes terminal commands."""

    def line(self, text: str = "") -> None:
        """Print one line on stdout."""

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """Print aligned columns on stdout."""

    def document(self, document: object) -> None:
        """Print a JSON document on stdout, for `--json`."""

    def write(self, text: str) -> None:
        """Write a text such as a diff or a file on stdout. It is escaped only for a terminal."""

    def diff(self, text: str, *, paged: bool = True) -> None:
        """Write a unified diff as `write` does; on a terminal in color, and `paged` in a pager.

        The pager is `GIT_PAGER` or `PAGER` of the environment, or else `less`.
        """

    def note(self, text: str) -> None:
        """Print one line for people on stderr."""

    def error(self, message: str, hint: str = "") -> None:
        """Print an error on stderr, and what to do, like those of the host."""


class Host(Protocol):
    """The parts of the host that a command may use. Each part is created on first use.

    `root` is the working directory. `environ` are the environment variables. `argv0` is the program
    as the user started it, so that hints work as printed. `out` prints results. `plugins` are the
    loaded plugins, `failures` the failures of the others; reading either, or `registry`, loads all
    plugins. `redactor` hides every configured key. `build_timeout` is the setting
    `build.timeout_seconds`.
    """

    root: Path
    environ: Mapping[str, str]
    argv0: str
    out: Output
    plugins: Sequence[Plugin]
    failures: Sequence[PluginFailure]
    registry: Registry
    redactor: Redactor
    build_timeout: float

    def workspace(
        self,
        *,
        writes: bool = False,
        processes: bool = False,
        repository: Repository = "required",
        root: Path | None = None,
    ) -> Workspace:
        """Open the project, for use in a `with` statement.

        Opening completes or undoes what a killed run left. With `writes`, the workspace holds the
        project's lock and can change files and the `store`. With `processes`, it can start
        processes, without keys and with the configured sandbox. `repository` selects what happens
        without a git repository, see `Workspace.open`. `root` is the working directory, unless you
        name another project.

        Raises:
            NotReady: something is missing, or another run holds the lock.
        """

    def settings(self) -> Any:
        """Return the validated section `[plugins.NAME]` of the command's plugin, or None.

        Raises:
            NotReady: the configuration is invalid, or the private folder is not safe.
        """

    def collect(self, hook: str, *, plugin: str = "") -> Iterable[tuple[str, Any]]:
        """Call a hook of every plugin, or only of `plugin`; yield (plugin, item).

        Failures are added to `failures`.

        Raises:
            UsageError: `plugin` is not installed, is broken, or does not implement the hook.
        """

    def parse(self, argv: Sequence[str]) -> Invocation:
        """Parse a command line that starts a workflow.

        Raises:
            UsageError: it has a flag that no installed workflow has, or flags of several workflows.
        """

    def run(self, invocation: Invocation) -> int:
        """Run a workflow as its command line does, and return the exit code.

        It runs in the working directory and prints its output.

        Raises:
            CodeCommitError: the run cannot start.
        """

    def start(
        self,
        invocation: Invocation,
        *,
        root: Path | None = None,
        quiet: bool = False,
    ) -> RunSummary:
        """Run a workflow and return how it ended. Progress goes to stderr; stdout stays empty.

        `root` is the project; by default the workflow chooses it. `quiet` turns progress off.

        Raises:
            CodeCommitError: the run cannot start.
        """

    def start_many(
        self,
        invocations: Sequence[Invocation],
        *,
        roots: Sequence[Path | None] = (),
        at_once: int = 2,
        quiet: bool = False,
    ) -> Iterator[RunSummary]:
        """Run workflows, `at_once` at the same time; yield how each ended, in their order.

        `roots` are their projects. Two runs cannot write to the same project at the same time. A
        run that cannot start has a summary, too. After a signal no run starts, and each one under
        way ends as a single one does: its files are moved back if `on_failure` says so. The end of
        the iteration waits for them.

        Raises:
            Interrupted: a signal came; the runs under way have ended.
        """
