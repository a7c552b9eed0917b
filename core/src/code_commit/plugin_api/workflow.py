"""What a workflow is, and the `Run` that the host gives it: its only way to models, files and processes."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:  # for annotations alone: this module is imported at every start
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from code_commit.plugin_api.conversation import Completion, Json, Request
    from code_commit.plugin_api.event import Event
    from code_commit_workspace import Change, ProcessResult, Refusal, Tree


class Model(Protocol):
    """The only way to a model: the host wraps it, so that counts, caps, retries, keys and log names hold for all."""

    @property
    def name(self) -> str:
        """The model's id, for people."""
        ...

    @property
    def reason(self) -> str:
        """What chose this model, in words: "--model", or the setting and its origin. A role that has none of its own
        falls back to the general model; this tells a person so."""
        ...

    def complete(self, request: Request, *, label: str) -> Completion:
        """Ask once. `label` names the call in the run folder: "initial-query" becomes `1-initial-query.txt`.

        May be called from several threads. Errors that end the run (no key, no service, a limit) are the host's:
        let them pass. A reply in which the service refuses, or which it filtered, ends the run as well.

        Raises:
            ProviderFailed: all tries failed, or the service refused; `may_pass` says whether to ask again makes sense.
        """
        ...


class Run(Protocol):
    """One run of one workflow.

    `root` is the working directory (never searched upwards), `folder` the run folder, `state` a folder of this plugin
    that survives runs, that its workflows share and that no model may write. `token` is a random word, fixed for the
    run, that fences text from outside in prompts; a replayed run has the recorded one. `options` are the workflow's
    flags and `settings` its section of the configuration, both validated; no key is in either. `build_timeout` is how
    many seconds `build.sh` may take, for commands that judge as it does.

    Its methods may be called from several threads. Spans, and the call that a process is logged under, belong to a
    context: run a thread's work in `contextvars.copy_context()`.
    """

    root: Path
    folder: Path
    state: Path
    token: str
    options: Any
    settings: Any
    tree: Tree
    build_timeout: float

    @property
    def repository_root(self) -> Path:
        """The top of the git work tree, which may be above `root`.

        Raises:
            NotReady: `root` lies in no git repository.
        """
        ...

    def model(self, role: str = "default") -> Model:
        """Return the model that the settings give to `role`: one that the definition names, or "default".

        Raises:
            NotReady: the definition names no such role; or the model's configuration, or its key, is missing.
        """
        ...

    def settings_of(self, plugin: str) -> Any:
        """Return the validated section of another plugin, for one that stands on it; None when it is not loaded.

        Raises:
            NotReady: the section does not validate.
        """
        ...

    def secret(self, name: str, /) -> str | None:
        """Return the value of an environment variable that this plugin declares in `code_commit_secrets`.

        None: it is unset or empty.

        Raises:
            NotReady: the plugin does not declare it; or its value is no line of printable ASCII of at least 8
                characters, and cannot be censored.
        """
        ...

    def files(self, patterns: Sequence[str] = (), *, recursive: bool = True) -> tuple[str, ...]:
        """Return the files that git tracks or would offer to track and that a model may see, sorted.

        `patterns` are those of `.gitignore` files, seen from the root; without any, all files are meant. With
        `recursive` a plain name matches at any depth; without, nothing below a pattern's own folder matches: `*.py`
        means the root's alone. Links and submodules are left out. (Seed 004, `context.files`.)

        Raises:
            NotReady: `root` lies in no git repository.
            ValueError: a pattern is malformed.
        """
        ...

    def may_read(self, path: str) -> Refusal | None:
        """Say why `path` may not be shown to a model, or None. For many paths at once there is `files`."""
        ...

    def check(self, changes: Sequence[Change]) -> tuple[Refusal, ...]:
        """Ask every path rule about `changes`; empty if all are allowed."""
        ...

    def apply(self, changes: Sequence[Change]) -> None:
        """Check again, then put all of `changes` on disk, or none."""
        ...

    def diff(self, changes: Sequence[Change]) -> str:
        """Return what `changes` would alter on disk, as a unified diff."""
        ...

    def build(self) -> ProcessResult:
        """Run `build.sh`, isolated as the settings say; logged under the number of the last model call."""
        ...

    def execute(
        self, argv: Sequence[str], *, timeout: float, stdin: bytes = b"", label: str = "command"
    ) -> ProcessResult:
        """Run a command of the model's choosing, `timeout` in seconds. Refused where isolation is missing, unless
        `--sandbox off` was given. `label` names its log in the run folder, behind the number of the last model call.
        """
        ...

    def git(self, *args: str, stdin: bytes = b"", check: bool = True, hooks: bool = False) -> bytes:
        """Run git in `root` and return its standard output; with `check` False its exit code does not count.

        It is for history: what is staged and committed. Files are changed by `apply`, where rules judge them. The
        repository's hooks run, and commits are signed, with `hooks` alone; no editor, pager or transport ever starts.

        Raises:
            NotReady: git failed; the message is its own.
        """
        ...

    def checkpoint(self) -> Callable[[], None]:
        """Remember the visible tree; call the result to restore it, as often as needed.

        It is the whole tree: what others wrote meanwhile, from other threads, goes as well.
        """
        ...

    def ask(self, question: str, *, choices: Sequence[str] = ()) -> str | None:
        """Ask the person; None at the end of input, which means quit. For interactive workflows alone.

        `choices` tell a program what is expected; whatever was typed is returned, and people read `question` alone.
        """
        ...

    def emit(self, event: Event) -> None:
        """Tell the log, the sinks and whoever watches."""
        ...

    def say(self, text: str) -> None:
        """Show `text` to the person: on stdout, escaped for a terminal; nothing with `--json`."""
        ...

    def redacted(self, text: str) -> str:
        """Return `text` without keys, for what a workflow writes anywhere but into the run folder."""
        ...

    def keep(self, name: str, content: str | bytes) -> Path:
        """Keep a file in the run folder, without keys; a name in use gets `-2`. Returns where it is."""
        ...

    def append(self, file: Path, content: str | bytes) -> None:
        """Add to a file that `keep` made. Keys are taken out of each piece by itself: give whole lines."""
        ...

    def find_run(self, name: str) -> Path:
        """Return the folder of a run of this project: its name, the beginning of one, or `latest`, this one.
        `read_records` reads its `events.jsonl`.

        Raises:
            NotReady: there is none, or the beginning fits several.
        """
        ...

    def span(self, kind: str, **data: Any) -> AbstractContextManager[None]:
        """Nest what is emitted inside."""
        ...

    def collect(self, hook: str) -> Iterable[tuple[str, Any]]:
        """Call a hook that a plugin has declared; yields (distribution, item), each implementation isolated."""
        ...


class Outcome(Enum):
    """How a workflow ended; the values are the exit codes of DESIGN section 6."""

    REACHED = 0
    NOT_REACHED = 1
    RESPONSE_REFUSED = 5
    LIMIT = 6


@dataclass(frozen=True, slots=True)
class Result:
    """What a workflow returns: its outcome, one line for people, and JSON for programs."""

    outcome: Outcome
    summary: str
    data: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended, as `run.finished` will say: `outcome` is the name of `exit_code`; no key is in it."""

    outcome: str
    exit_code: int
    summary: str
    data: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Flag:
    """A command-line flag of a workflow. `metavar` None: a switch. `selects`: this flag chooses the workflow.

    The value arrives in the field of the workflow's `options` model that is named like the first long name
    (`--query-file` → `query_file`), as text or True; the model converts and validates it.
    """

    names: tuple[str, ...]
    help: str
    metavar: str | None = None
    selects: bool = False


@dataclass(frozen=True, slots=True)
class WorkflowDefinition:
    """A workflow that a plugin offers. Code is named as `"package.module:name"` and imported when chosen.

    `run` is a `Callable[[Run], Result]`. `options` is a pydantic model of the flags; a field that the plugin's
    section of the settings has too is a setting which the flag overrides. `roles` are the names under `[providers]`
    that this workflow asks models for; None: it asks none, and runs where no provider is installed. `root` is a
    `Callable[[options, ask], Path | None]` that chooses the root before the run opens; None: the person quit. `ask`
    is a `Callable[[str], str | None]` that asks the person like `Run.ask`, but on stderr, where no event is expected.
    `ignores` names flags of other workflows that are passed over when this one is chosen. `writes` needs a git
    repository, the lock and the path rules. `no_repository` names switches among the options: where one is given, the
    root need not lie in a repository, and `Run.git` works on an empty one. `numbered` puts the call's number in front
    of log names. `reports_progress`: it tells people by `Run.say` what it does, and progress leaves out what went well.
    """

    name: str
    help: str
    flags: tuple[Flag, ...]
    run: str
    roles: tuple[str, ...] | None = ()
    options: str | None = None
    root: str | None = None
    ignores: tuple[str, ...] = ()
    interactive: bool = False
    writes: bool = True
    no_repository: tuple[str, ...] = ()
    numbered: bool = True
    reports_progress: bool = False
