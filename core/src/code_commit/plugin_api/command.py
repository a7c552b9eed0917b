"""What a command is, and the `Host` that it is given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:  # for annotations alone: this module is imported by `--help`
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from code_commit.plugin_api.provider import ProviderDefinition
    from code_commit.plugin_api.workflow import WorkflowDefinition
    from code_commit_workspace import Redactor, Workspace
    from code_commit_workspace.workspace import Repository


@dataclass(frozen=True, slots=True)
class CommandDefinition:
    """A command that a plugin offers: `code-commit NAME`. Code is named as `"package.module:name"`, imported when used.

    `run` is a `Callable[[Host, argparse.Namespace], int]` that returns the exit code; `arguments` a
    `Callable[[argparse.ArgumentParser], None]` that adds the command's own arguments, and may set `description`,
    `epilog` and `usage`. `help` is one line, for the list of commands.
    """

    name: str
    help: str
    run: str
    arguments: str | None = None


@dataclass(frozen=True, slots=True)
class Invocation:
    """A command line that starts a workflow, parsed. `argv` is the command line itself.

    `flags` are the workflow's own by field name, `settings` those of every workflow by the setting that they override.
    """

    workflow: WorkflowDefinition
    flags: Mapping[str, Any]
    settings: Mapping[str, Any]
    argv: tuple[str, ...] = field(repr=False)
    as_json: bool = False
    quiet: bool = False
    debug: bool = False


RunState = Literal["running", "finished", "killed"]


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run. `document` has the fields of `run.json`; `outcome` and `exit_code` are None until it finished."""

    run: str
    folder: Path
    state: RunState
    workflow: str
    outcome: str | None
    exit_code: int | None
    summary: str
    document: Mapping[str, Any]


class InstalledPlugin(Protocol):
    """A plugin that is loaded. `name` is its entry point's, and that of its section in the settings."""

    @property
    def name(self) -> str: ...
    @property
    def distribution(self) -> str: ...
    @property
    def version(self) -> str: ...


class FailedPlugin(Protocol):
    """What failed of a plugin. `stage` is "import", "name", or the hook."""

    @property
    def plugin(self) -> str: ...
    @property
    def distribution(self) -> str: ...
    @property
    def stage(self) -> str: ...
    @property
    def error(self) -> str: ...


class Registry(Protocol):
    """What the loaded plugins offer, by name."""

    @property
    def providers(self) -> Mapping[str, tuple[InstalledPlugin, ProviderDefinition]]: ...
    @property
    def workflows(self) -> Mapping[str, tuple[InstalledPlugin, WorkflowDefinition]]: ...
    @property
    def commands(self) -> Mapping[str, tuple[InstalledPlugin, CommandDefinition]]: ...


class Runs(Protocol):
    """The runs of the project, as their folders tell them."""

    def list(self) -> list[RunSummary]:
        """Return every run, the oldest first."""
        ...

    def find(self, name: str) -> RunSummary:
        """Return one run: its name, the beginning of one, or `latest`.

        Raises:
            NotReady: there is none, or the beginning fits several.
        """
        ...


class Output(Protocol):
    """Prints what a command has to say. It hides keys, and no text can send commands to the terminal."""

    def line(self, text: str = "") -> None:
        """Print one line on stdout."""
        ...

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """Print columns on stdout, each as wide as its widest cell."""
        ...

    def document(self, document: object) -> None:
        """Print a JSON document on stdout, for `--json`."""
        ...

    def write(self, text: str) -> None:
        """Write a text on stdout, escaped only where stdout is a terminal: a diff, a file."""
        ...

    def note(self, text: str) -> None:
        """Tell the person one line on stderr."""
        ...


class Host(Protocol):
    """What a command may use of the host. Each part is made when you ask for it.

    `root` is the working directory. `environ` are the environment variables. `argv0` is the program as it was
    started, for hints that work as printed. `out` prints results. `plugins` are the loaded plugins and `failures`
    what failed of others: asking loads all of them, and so does `registry`. `runs` are the earlier runs of the
    project. `redactor` knows every key that is configured here.
    """

    @property
    def root(self) -> Path: ...
    @property
    def environ(self) -> Mapping[str, str]: ...
    @property
    def argv0(self) -> str: ...
    @property
    def out(self) -> Output: ...
    @property
    def plugins(self) -> Sequence[InstalledPlugin]: ...
    @property
    def failures(self) -> Sequence[FailedPlugin]: ...
    @property
    def registry(self) -> Registry: ...
    @property
    def runs(self) -> Runs: ...
    @property
    def redactor(self) -> Redactor: ...

    def workspace(
        self,
        *,
        writes: bool = False,
        processes: bool = False,
        repository: Repository = "required",
        root: Path | None = None,
    ) -> Workspace:
        """Open the project: use it in a `with` statement. It is whole, also after a run that was killed.

        With `writes` it holds the project's lock, and changes files, `checkpoints` too. With `processes` it starts
        them as the settings say, without keys. `repository` says what happens without a git repository, see
        `Workspace.open`. `root` is the working directory, unless you name another project.

        Raises:
            NotReady: something is missing, or another run is in the way.
        """
        ...

    def settings(self) -> Any:
        """Return the validated section `[plugins.NAME]` of the plugin that offers this command, or None.

        Raises:
            NotReady: the configuration is broken, or may not be read here.
        """
        ...

    def collect(self, hook: str, *, plugin: str = "") -> Iterable[tuple[str, Any]]:
        """Call a hook of every plugin, or of `plugin` alone; yield (plugin, item). One that fails is in `failures`.

        Raises:
            UsageError: `plugin` is not installed, is broken, or does not implement the hook.
        """
        ...

    def parse(self, argv: Sequence[str]) -> Invocation:
        """Parse a command line that starts a workflow.

        Raises:
            UsageError: it has a flag that no installed workflow knows, or flags of several.
        """
        ...

    def start(self, invocation: Invocation, *, root: Path | None = None, quiet: bool = False) -> RunSummary:
        """Run a workflow and return how the run ended. It prints progress on stderr, and nothing on stdout.

        `root` is the project; by default the workflow chooses it. `quiet` leaves progress out.

        Raises:
            CodeCommitError: the run cannot begin.
        """
        ...
