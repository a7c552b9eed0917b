"""The `Run` of a workflow, its only access to models, files and processes.

Also: how a run ends, and the protected files.
"""

# ruff: noqa: PLC0414 - types of the workspace, for plugins
from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

from code_commit.plugin_api.errors import ExitCode
from code_commit.threads import Worker as Worker
from code_commit.threads import run_concurrently as run_concurrently
from code_commit_workspace import Change as Change
from code_commit_workspace import PathRule as PathRule
from code_commit_workspace import ProcessResult as ProcessResult
from code_commit_workspace import Protected as Protected
from code_commit_workspace import Refusal as Refusal
from code_commit_workspace import Tree as Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from contextvars import Context
    from pathlib import Path

    from code_commit.plugin_api.acceptance import Submission, Verdict
    from code_commit.plugin_api.conversation import Completion, Json, Request
    from code_commit.plugin_api.event import Event
    from code_commit.plugin_api.prompt_size import PromptPart, PromptSize
    from code_commit.plugin_api.provider import Watch
    from code_commit_workspace import RunningProcess

# In the order of the prompt of the commit workflow. Files that git ignores are protected too.
PROTECTED = (
    Protected(".gitignore", anywhere=True),
    Protected("Cargo.lock"),
    Protected("build.sh"),
    Protected("codeRollup.sh"),
    Protected("LLMInstructions.md"),
    Protected("UserSpecification.md", "any file named UserSpecification.md", anywhere=True),
    Protected(".git", "anything in the .git folder", anywhere=True, readable=False),
    Protected("agent-config", "anything in the agent-config folder", readable=False),
    Protected("logs", "anything in the logs folder", readable=False),
    Protected("target", "anything in the target folder"),
)
_IGNORED = "anything specified in the .gitignore file"


def protected_list() -> str:
    """Return the protected files as a list for prompts: a line with `+` each, no final newline."""
    lines = [*map(str, PROTECTED), _IGNORED]
    return "\n".join(f"+ {line}" for line in lines)


class Model(Protocol):
    """The only access to a model. The host adds counting, limits, retries, keys and the log."""

    @property
    def name(self) -> str:
        """The model's id, for people."""

    @property
    def provider(self) -> str:
        """The name of the model's provider."""

    @property
    def window(self) -> int | None:
        """The most tokens that the model reads, or None if that is unknown.

        `complete` refuses a longer prompt. The first look may take a fifth of a second.
        """

    @property
    def reason(self) -> str:
        """What selected this model: "--model", or the setting and its origin.

        A role without its own setting uses the general model."""

    def complete(
        self,
        request: Request,
        *,
        label: str,
        watch: Watch | None = None,
        parts: Sequence[PromptPart] = (),
    ) -> Completion:
        """Make one call.

        `label` names it in the run folder: "initial-query" becomes `1-initial-query.txt`. A label
        is printable and has no slash; the name of the file has at most 200 bytes.

        With `watch`, the text that decides what the workflow does is the whole text of the
        completion, which then has the finish STOPPED_EARLY. With the setting `stop_early`, the host
        does not read the rest of a streamed reply.

        A prompt that exceeds the model's window is refused before it is sent. The hint names the
        largest of `parts`, or, without `parts`, the kinds of messages that take the most room.

        Several threads may call it. Do not catch errors that end the run, such as a missing key or
        a limit: the host handles them. If the service refuses or filters a completion, the run ends
        as well.

        Raises:
            ProviderFailed: all tries failed, or the service refused; `may_pass` is whether a new
                call may succeed.
            NotReady: the prompt exceeds the model's window, and this is the first call of the run.
            LimitReached: the prompt exceeds the window in a later call.
        """

    def require_fit(self, size: PromptSize) -> None:
        """Check that a prompt fits the model's window, as `complete` does, before other work.

        Without a request in `size`, as before a large file is read, only an estimate far above the
        window is refused.

        Raises:
            NotReady, LimitReached: it does not fit; see `complete`.
        """

    def count_tokens(self, request: Request) -> int | None:
        """Ask the service how many tokens `request` has; return None if it cannot tell.

        The call is free. `estimate_tokens` needs no call: use this method where the estimate comes
        near a limit.
        """


class Arrival(Protocol):
    """The end of one of several calls.

    Run what belongs to the call in its `context`: a build there is logged under its number.
    """

    @property
    def number(self) -> int:
        """The number of the call."""

    @property
    def context(self) -> Context:
        """The context in which the call was made."""

    @property
    def result(self) -> Callable[[], Completion]:
        """Returns the completion, or raises the error of the call, as `Model.complete` does."""


class CallsAtOnce(Protocol):
    """Makes several calls at once.

    Iterate over it to take the calls as they end, in the order of arrival, until none is under way.
    """

    def start(
        self,
        model: Model,
        request: Request,
        *,
        label: str,
        watch: Watch | None = None,
        parts: Sequence[PromptPart] = (),
    ) -> int:
        """Start a call, also while you iterate, and return its number.

        The arguments are those of `Model.complete`.

        Raises:
            NotReady, LimitReached: the prompt does not fit; see `Model.complete`.
        """

    def __iter__(self) -> Iterator[Arrival]: ...


class Trial(Protocol):
    """A part of a run whose changes are moved back at its end, unless they are kept."""

    @property
    def is_kept(self) -> bool: ...
    def keep(self) -> None:
        """Keep the changes of the trial."""


class FileDiff(Protocol):
    """The diff of one file.

    `added` and `removed` count its lines; both are None for a binary file. `text` is empty where
    the diff is too large.
    """

    @property
    def path(self) -> str: ...
    @property
    def added(self) -> int | None: ...
    @property
    def removed(self) -> int | None: ...
    @property
    def text(self) -> str: ...


class WorkDone(Protocol):
    """The visible files that differ from what they were before the work wrote them.

    `written` are those that `Run.apply` wrote, `by_commands` those that only commands of
    `Run.execute` wrote. `by_people` are files that people changed during the work, also some of the
    others.
    """

    @property
    def written(self) -> frozenset[str]: ...
    @property
    def by_commands(self) -> frozenset[str]: ...
    @property
    def by_people(self) -> frozenset[str]: ...

    def diffs(self, paths: Collection[str], *, most: int) -> Sequence[FileDiff]:
        """Return the diffs of those `paths` that the work changed, sorted.

        Texts are left out where the diffs have more than `most` bytes together.
        """

    def originals(self, paths: Collection[str]) -> Mapping[str, bytes | None]:
        """Return those `paths` that the work changed, as they were before, None without a file."""


class Run(Protocol):
    """One run of one workflow.

    `root` is the working directory, `folder` the run folder. `state` is a folder for this plugin's
    data: it persists between runs, all workflows of the plugin share it, and no model can write to
    it. `token` is a random word for this run that delimits untrusted text in prompts; a replayed
    run has the recorded token. `options` are the workflow's flags and `settings` its section of the
    configuration, both validated and without keys; `flags` are the options that the command line
    sets, not a setting of the same name. `build_timeout` is the time limit of `build.sh` in
    seconds, for commands that check the project in its place. `max_files` is how many files one
    change set may have: `check` and `apply` refuse more. `commands` are the installed commands: a
    hint names no other.

    Several threads may call its methods. Spans, and the number that a process is logged under,
    belong to a context: run a thread's work in `contextvars.copy_context()`.
    """

    root: Path
    folder: Path
    state: Path
    token: str
    options: Any
    settings: Any
    flags: Collection[str]
    tree: Tree
    build_timeout: float
    max_files: int
    commands: Collection[str]

    @property
    def repository_root(self) -> Path:
        """The top of the git work tree, which may be above `root`.

        Raises:
            NotReady: `root` is not in a git repository.
        """

    def model(self, role: str = "default", name: str | None = None) -> Model:
        """Return the model of `role`: "default", or a role in the definition of the workflow.

        With `name`, return that model, for calls in this role. A name is what `--model` takes: an
        id or alias, `provider/any-id`, or a named config. A replay answers for every model.

        Raises:
            UsageError: there is no model of this name.
            NotReady: the definition has no such role; or the model's configuration or key is
                missing.
        """

    def calls_at_once(self) -> AbstractContextManager[CallsAtOnce]:
        """Return a context manager for several calls at once.

        Calls that are under way at the end of the block are cancelled: the host closes their
        connections. They may still cost something, and count in full for `--max-cost`.
        """

    def settings_of(self, plugin: str) -> Any:
        """Return the validated section of another plugin, or None if it is not loaded.

        It is for a plugin that this one builds on.

        Raises:
            NotReady: the section is invalid.
        """

    def secret(self, name: str, /) -> str | None:
        """Return the value of a secret environment variable, or None if it is unset or empty.

        Raises:
            NotReady: the plugin does not declare it in `code_commit_secrets`; or its value cannot
                be censored, because it is not a line of at least 8 printable ASCII characters.
        """

    def files(self, patterns: Sequence[str] = (), *, recursive: bool = True) -> tuple[str, ...]:
        """Return the files that git tracks or does not ignore and that a model may read, sorted.

        `patterns` have the syntax of a `.gitignore` file in the root; without any, all files match.
        With `recursive`, a plain name matches at any depth; without, a pattern matches only in its
        own folder: `*.py` matches only in the root. Links and submodules are left out.

        Raises:
            NotReady: `root` is not in a git repository.
            ValueError: a pattern is malformed.
        """

    def may_read(self, path: str) -> Refusal | None:
        """Return why a model may not read `path`, or None if it may.

        For many paths, use `files`.
        """

    def check(self, changes: Sequence[Change]) -> tuple[Refusal, ...]:
        """Check `changes` with every path rule; return the refusals, none if all are allowed."""

    def apply(
        self, changes: Sequence[Change], *, shown: Mapping[str, bytes | None] | None = None
    ) -> Collection[str]:
        """Check `changes` again, then apply all of them or none.

        `shown` has files as the writer of the changes saw them: what a person changed elsewhere in
        them since then stays. Return the paths of these. Other files are replaced as they are.

        Raises:
            Conflict: a person changed a file of `shown` at the same places; nothing was applied.
        """

    def diff(self, changes: Sequence[Change]) -> str:
        """Return the unified diff that applying `changes` would produce."""

    def build_command(self) -> tuple[str, ...]:
        """Return the command line of `build`. Call it before the first paid call.

        It starts with the interpreter in the first line of `build.sh`, or with bash.

        Raises:
            NotReady: `build.sh` is missing, is a link or not a text with LF line ends, or its
                interpreter is missing.
        """

    def build(
        self,
        *,
        label: str = "build",
        environment: Mapping[str, str] = ...,
    ) -> ProcessResult:
        """Run `build.sh` in the configured sandbox.

        `label` names the log in the run folder, after the number of the last model call.
        `environment` is added to the variables of the build.
        """

    def baseline(self) -> AbstractContextManager[None]:
        """Return a context manager for the wait for the first call of a run.

        During its block, `build.sh` runs on the untouched files, unless they are known to be green
        or the setting `build.baseline` says otherwise. The end of the block ends the build. Further
        ones do nothing.

        Raises:
            NotReady: the build is red, and the setting is `before`.
        """

    @property
    def baseline_build(self) -> ProcessResult | None:
        """The build of the files from before the run; None if it was not made or has not ended."""

    def accept(self, submission: Submission) -> Verdict:
        """Ask the acceptance checks of plugins whether a change stands, after a green build.

        They run in order of plugin name until one refuses. A refusal is a failed attempt: give the
        reason to the model where the output of the build would be, or end the run with the exit
        code 1. Put the verdict into the `Result`.

        Raises:
            NotReady: a check failed: the run ends with its distribution's name.
        """

    def originals(self, paths: Collection[str]) -> Mapping[str, bytes | None]:
        """Return the files at `paths` as they were before the run, None where there was none."""

    def versions(self, path: str) -> Iterator[bytes | None]:
        """Yield the contents of a file that this run has seen or written, the latest first.

        None is no file.
        """

    def moment(self) -> str:
        """Return the present moment of this run, for `changes_since`, also of a later run."""

    def changes_since(self, *moments: str) -> WorkDone:
        """Return what this run and earlier ones changed, without what people changed.

        Pass a moment of each run, oldest first. Runs whose logs are gone are skipped.

        Raises:
            NotReady: the logs of all of them are gone.
        """

    def trial(
        self, *, show: Mapping[str, bytes | None] | None = None
    ) -> AbstractContextManager[Trial]:
        """Return a context manager that moves back what responses and commands write.

        The contents `show` stand in place during the block; None removes a file. The path rules are
        not asked.

        The changes stay if `keep` of its value is called. What a person changed elsewhere in the
        same files stays as well; where it overlaps, it gives way, and `code-commit redo` brings it
        back. Files that only a build or a person wrote are not touched. No other thread can change
        files meanwhile.

        Raises:
            Conflict: a person changed a file of `show` at the same places.
        """

    def execute(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        stdin: bytes = b"",
        label: str = "command",
    ) -> ProcessResult:
        """Run a command that a model chose.

        It fails if no sandbox is available, unless `--sandbox off` was given. `timeout` is in
        seconds. `label` names the log in the run folder, after the number of the last model call.
        """

    def limit_writes(self, paths: Sequence[str]) -> AbstractContextManager[Collection[str]]:
        """Move back what commands in the block change in other files than `paths`.

        Files that git ignores stay as they are. After the block, the value holds the paths that
        were moved back. What a person wrote there while a command ran is moved back too;
        `code-commit redo` brings it back.
        """

    def start_process(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] = ...,
        isolation_required: bool = True,
    ) -> RunningProcess:
        """Start a process that runs alongside the workflow; talk to it over its pipes.

        It has the sandbox and environment of `execute`, plus `env`. It ends with the run, at the
        latest. Only with `isolation_required=False` does it start where no sandbox is available.
        """

    def git(
        self,
        *args: str,
        stdin: bytes = b"",
        check: bool = True,
        hooks: bool = False,
        most: int | None = None,
    ) -> bytes:
        """Run git in `root` and return its standard output. `check=False` ignores its exit code.

        If the output is longer than `most` bytes, git is stopped, and the result is its beginning,
        at least one byte more.

        Use it to stage and commit. To change files, use `apply`, which checks the path rules. Only
        with `hooks` do the repository's hooks run and are commits signed; an editor, pager or
        transport never starts. A workflow that does not write holds no lock: it may only run
        commands that read, such as `log`. Put a value that you do not choose after
        `--end-of-options` or, if it is a path, after `--`; git takes one that begins with `-` as an
        option.

        Raises:
            NotReady: git failed, with its message; or the workflow does not write, and the command
                may.
        """

    def ask(
        self,
        question: str,
        *,
        choices: Sequence[str] = (),
        draft: str | None = None,
    ) -> str | None:
        """Ask the user; return None at the end of input, which means quit.

        Only for interactive workflows. `choices` lists the expected answers for programs; people
        see only `question`, and any answer is returned. What was typed on a terminal before the
        question is dropped, and a pasted block is one answer. With `draft`, the answer is in the
        person's own words: a line that ends with a backslash goes on, `e` opens an editor with
        `draft`, and an answer that is not one of `choices` can be called up later.
        """

    def emit(self, event: Event) -> None:
        """Send `event` to the log, the sinks and the progress display."""

    def say(self, text: str, style: str = "") -> None:
        """Print `text` on stdout, escaped for a terminal; with `--json`, print nothing.

        `style`, such as `dim` or `bold red`, is one of rich's. It applies only on a terminal with
        colors.
        """

    def show_replies(self, speaker: str = "") -> AbstractContextManager[None]:
        """Return a context manager that prints the text of each reply on stdout, as `say` does.

        With `speaker`, each reply stands below a line with that name. A terminal gets line breaks
        between words.

        A streamed reply is printed while it arrives, any other when it is complete. The text of a
        try that failed stays on the screen. It holds for calls in the same context: a thread needs
        a copy of it.
        """

    def redacted(self, text: str) -> str:
        """Return `text` without keys, for text that a workflow writes outside the run folder."""

    def keep(self, name: str, content: str | bytes) -> Path:
        """Write a file to the run folder, without keys, and return its path.

        A duplicate name gets the suffix `-2`.
        """

    def keep_input(self, name: str, content: str | bytes) -> None:
        """Keep a text that the next prompt has, so that it is stored once.

        The file is written after that prompt, without keys. `read_run_text` reads it.
        """

    def append(self, file: Path, content: str | bytes) -> None:
        """Append to a file that `keep` wrote.

        Each piece is redacted separately: pass whole lines.
        """

    def find_run(self, name: str) -> Path:
        """Return the folder of a run of this project.

        `name` is its name, a unique prefix, or `latest`: this run. `read_records` reads the
        `events.jsonl` in it.

        Raises:
            NotReady: no run matches, or the prefix matches several.
        """

    def span(self, kind: str, **data: Any) -> AbstractContextManager[None]:
        """Return a context manager that nests the events emitted inside."""

    def collect(self, hook: str, *, required: bool = False) -> Iterable[tuple[str, Any]]:
        """Call a hook that a plugin declares; return (distribution, item) for each item.

        An error in one implementation is reported and affects no other, unless all of them are
        `required`.

        Raises:
            NotReady: an implementation failed, and all of them are `required`. The message names
                its distribution.
        """


class Outcome(Enum):
    """How a workflow ended; each value is an exit code."""

    REACHED = ExitCode.REACHED
    NOT_REACHED = ExitCode.NOT_REACHED
    RESPONSE_REFUSED = ExitCode.RESPONSE_REFUSED
    LIMIT = ExitCode.LIMIT


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a workflow.

    `summary` is one line for people, `data` is JSON for programs, and `hint` is what people can do
    next. `verdict` is that of the acceptance checks on the files that stay.
    """

    outcome: Outcome
    summary: str
    data: Json = field(default_factory=dict)
    hint: str = ""
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended, with the fields of `run.finished`: `outcome` is the name of `exit_code`.

    It contains no key.
    """

    outcome: str
    exit_code: int
    summary: str
    data: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunSummary:
    """How a run ended. `folder` is its run folder; a run that did not begin leaves none."""

    folder: Path
    exit_code: ExitCode
    summary: str
